import type { Command } from "commander";
import type { Cli } from "../cli.js";
import { addAppOption, type DatabaseOptions, databaseCommand } from "../command.js";
import { printCommit } from "../commit.js";
import { parseCellRow, parseRow } from "../key-text.js";
import { declaredBy, withDatabase } from "../open-database.js";
import { findColumn, findTarget } from "../target.js";

export function addDelete(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "delete", {
    summary: "delete a cell or a row",
    description:
      "Deletes a cell, or of TABLE every cell of the row, in a transaction of its own. A delete is a change: observers of " +
      "the columns become due.",
    examples: [
      "delete ./data documents.contents https://example.org/",
      "delete ./data documents.anchors:https://example.com/ https://example.org/",
      "delete ./data documents https://example.org/",
    ],
    json: ['{"commitTimestamp","time"}; both null where the row has no cells.'],
  });
  addAppOption(command)
    .argument("<target>", "TABLE.COLUMN, TABLE.FAMILY:QUALIFIER, or TABLE for the row")
    .argument("<row>", "the row's key; a composite key as a JSON array")
    .action((location: string, text: string, rowText: string, { app }: DatabaseOptions) =>
      withDatabase(cli, { location, app, options: declaredBy }, async (opened) => {
        const target = findTarget(opened, text);
        if (target.kind === "table") {
          const row = parseRow(target.defined, rowText);
          await printCommit(cli, opened.db, "delete", (tx) => tx.deleteRow(target.table, row));
          return;
        }
        const column = findColumn(opened, text);
        const row = parseCellRow(column, rowText);
        await printCommit(cli, opened.db, "delete", (tx) => tx.delete(column, row));
      }),
    );
}
