import type { Readable } from "node:stream";
import type { Command } from "commander";
import { throwIfAborted } from "../../../environment/index.js";
import { limits } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { addAppOption, type DatabaseOptions, databaseCommand } from "../../command.js";
import { CellWriters, forceHelp, type WriteOptions } from "../../database/cell-writer.js";
import { printCommit } from "../../database/commit.js";
import { declaredBy, type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { parseCellInput, parseCellValue } from "../../database/value-text.js";
import { parseCellRow } from "../../input/key-text.js";
import { findColumn } from "../../input/target.js";
import { UsageError } from "../../usage-error.js";

interface SetOptions extends DatabaseOptions, WriteOptions {}

export function addSet(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "set", {
    summary: "set a cell",
    description:
      "Sets a cell in one transaction. VALUE has the form that `get` prints: text unchanged, bytes as base64, numbers, " +
      "true or false, JSON. With -, the command reads the value from the standard input: bytes and text unchanged, other " +
      "values without surrounding white space. Observers of the column become due. With --app, the command first " +
      "registers the module's tables and observers, and creates the database if it does not exist. Without --app, it " +
      "refuses a column with a schema, with versions, with choices, with a custom codec, with a unique constraint or with an exact index. With --force it writes the value unchecked, in its " +
      "stored form, and updates no constraint or index.",
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
      const check = async (opened: OpenedDatabase) => {
        const writer = (await CellWriters.of(opened, options)).forValues(findColumn(opened, target));
        const row = parseCellRow(writer.column, rowText);
        return { writer, row, given: text === "-" ? undefined : parseCellValue(writer.column, row, text) };
      };
      const request = { location, app, create: app !== undefined, options: declaredBy, check };
      return withDatabase(cli, request, async (opened) => {
        const { writer, row, given } = await check(opened);
        const value =
          text === "-"
            ? parseCellInput(writer.column, row, await readInput(cli.io.stdin, cli.signal))
            : given;
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
          `The value on the standard input has more than ${limits.valueBytes} bytes, the limit of a value.`,
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
