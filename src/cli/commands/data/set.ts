import type { Readable } from "node:stream";
import type { Command } from "commander";
import { throwIfAborted } from "../../../environment/index.js";
import { limits } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { addAppOption, type DatabaseOptions, databaseCommand } from "../../command.js";
import { CellWriters, forceHelp, type WriteOptions } from "../../database/cell-writer.js";
import { printCommit } from "../../database/commit.js";
import { declaredBy, withDatabase } from "../../database/open-database.js";
import { parseCellInput, parseCellValue } from "../../database/value-text.js";
import { parseCellRow } from "../../input/key-text.js";
import { findColumn } from "../../input/target.js";
import { UsageError } from "../../usage-error.js";

interface SetOptions extends DatabaseOptions, WriteOptions {}

export function addSet(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "set", {
    summary: "set a cell",
    description:
      "Sets a cell in a transaction of its own. VALUE is what `get` prints: text as it is, bytes as base64, numbers, true " +
      "or false, JSON. With - it is read from the standard input, bytes as they are. Observers of the column become due. " +
      "With --app the module's tables and observers are registered first, and the database is made where there is none. " +
      "Without it a column with a schema, with choices, with a codec of its own, or with a unique constraint or an exact index is " +
      "refused; with --force its value is written unchecked, as it is stored, and nothing else with it.",
    examples: [
      "set ./data documents.title https://example.org/ 'Example Domain'",
      "set ./data documents.contents https://example.org/ - < index.html",
      `set ./data documents.links https://example.org/ '["https://example.com/"]'`,
      "set ./data documents.title https://example.org/ -- --draft--",
      `set ./data users.profile ann '{"city":"Bergen"}' --app ./app.ts`,
    ],
    json: ['{"commitTimestamp","time"}'],
  });
  addAppOption(command)
    .argument("<column>", "TABLE.COLUMN or TABLE.FAMILY:QUALIFIER")
    .argument("<row>", "the row's key; a composite key as a JSON array")
    .argument("<value>", "the value, or - for the standard input")
    .option("--force", forceHelp)
    .action((location: string, target: string, rowText: string, text: string, options: SetOptions) => {
      const { app } = options;
      const request = { location, app, create: app !== undefined, options: declaredBy };
      return withDatabase(cli, request, async (opened) => {
        const writer = (await CellWriters.of(opened, options)).forValues(findColumn(opened, target));
        const { column } = writer;
        const row = parseCellRow(column, rowText);
        const value =
          text === "-"
            ? parseCellInput(column, row, await readInput(cli.io.stdin, cli.signal))
            : parseCellValue(column, row, text);
        await printCommit(cli, opened.db, "set", (tx) => writer.set(tx, row, value));
      });
    });
}

async function readInput(stdin: Readable, signal: AbortSignal): Promise<Uint8Array> {
  const doing = "Reading the standard input";
  throwIfAborted(signal, doing);
  const chunks: Uint8Array[] = [];
  let length = 0;
  const end = () => stdin.destroy();
  signal.addEventListener("abort", end, { once: true });
  try {
    for await (const chunk of stdin) {
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Uint8Array);
      length += bytes.length;
      if (length > limits.valueBytes) {
        throw new UsageError(
          `A value has at most ${limits.valueBytes} bytes; the input has more.`,
          "INVALID_VALUE",
        );
      }
      chunks.push(bytes);
    }
  } catch (error) {
    throwIfAborted(signal, doing);
    throw error;
  } finally {
    signal.removeEventListener("abort", end);
  }
  throwIfAborted(signal, doing);
  return Buffer.concat(chunks);
}
