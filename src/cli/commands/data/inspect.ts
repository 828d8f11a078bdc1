import type { Command } from "commander";
import { definition } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { addAppOption, type DatabaseOptions, databaseCommand } from "../../command.js";
import { withDatabase } from "../../database/open-database.js";
import { parseRow, showRow } from "../../input/key-text.js";
import { findTable } from "../../input/target.js";
import { exitCodes } from "../../print/exit.js";
import { inspectedLines, inspectedToJson } from "../../print/inspected.js";
import { cutToWidth } from "../../print/layout.js";

export function addInspect(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "inspect", {
    summary: "print the protocol cells of a row",
    description:
      "Prints the raw protocol cells of a row, decoded, one line each: locks by start timestamp, write records by " +
      "commit timestamp, values by start timestamp, and statuses of transactions (txn). A short value is part of its " +
      "write record. For observers, prints acknowledgments (~ack) and parked changes (~parked). Of each column, prints the " +
      "newest 1,000 of each kind; `history` has all versions.",
    examples: [
      "inspect ./data documents https://example.org/",
      `inspect ./data visits '["https://example.org/",2024]'`,
    ],
    json: [
      '{"table","row","columns"}; each column {"column","locks","writes","data","statuses"}. Values that cannot be',
      "decoded are base64.",
    ],
    exit: ["1 if the row has no protocol cells."],
  });
  addAppOption(command)
    .argument("<table>", "the table's name")
    .argument("<row>", "the row's key; a composite key as a JSON array")
    .action((location: string, name: string, rowText: string, { app }: DatabaseOptions) =>
      withDatabase(cli, { reads: true, location, app }, async (opened) => {
        const table = findTable(opened, name);
        const defined = table[definition];
        const row = parseRow(defined, rowText);
        const columns = await opened.db.inspect(table, row);
        if (columns.length === 0) cli.exitCode = exitCodes.data;
        const document = {
          table: name,
          row: showRow(defined, row),
          columns: columns.map((column) => inspectedToJson(defined, column)),
        };
        await cli.print(document, () => {
          if (columns.length === 0) return [];
          const lines = inspectedLines(defined, columns, cli.environment.now());
          return lines.map((line) => cutToWidth(line, cli.out.width));
        });
      }),
    );
}
