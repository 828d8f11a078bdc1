import type { Command } from "commander";
import type { Cli } from "../../cli.js";
import { addAppOption, type DatabaseOptions, databaseCommand } from "../../command.js";
import { CellWriters, forceHelp, type WriteOptions } from "../../database/cell-writer.js";
import { printCommit } from "../../database/commit.js";
import { declaredBy, withDatabase } from "../../database/open-database.js";
import { parseCellRow, parseRow } from "../../input/key-text.js";
import { findColumn, findTarget } from "../../input/target.js";

interface DeleteOptions extends DatabaseOptions, WriteOptions {}

export function addDelete(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "delete", {
    summary: "delete a cell or a row",
    description:
      "Deletes a cell, or every cell of the row if the target is TABLE, in one transaction. A delete is a change, so " +
      "observers of the columns become due. Without --app, the command refuses to delete from a column with a unique " +
      "constraint or an exact index, and to delete a row of its table. With --force it deletes the cells, and leaves " +
      "the entries of the constraint or index unchanged.",
    examples: [
      "delete ./data documents.contents https://example.org/",
      "delete ./data documents.anchors:https://example.com/ https://example.org/",
      "delete ./data documents https://example.org/",
    ],
    json: ['{"commitTimestamp","time"}; both null if the row has no cells.'],
  });
  addAppOption(command)
    .argument("<target>", "TABLE.COLUMN, TABLE.FAMILY:QUALIFIER, or TABLE for the row")
    .argument("<row>", "the row's key; a composite key as a JSON array")
    .option("--force", forceHelp)
    .action((location: string, text: string, rowText: string, options: DeleteOptions) =>
      withDatabase(cli, { location, app: options.app, options: declaredBy }, async (opened) => {
        const target = findTarget(opened, text);
        const writers = await CellWriters.of(opened, options);
        if (target.kind === "table") {
          const row = parseRow(target.defined, rowText);
          const kept = writers.forRows(target.defined);
          await printCommit(cli, opened.db, "delete", async (tx) => {
            for (const writer of kept) await writer.delete(tx, row);
            await tx.deleteRow(target.table, row);
          });
          return;
        }
        const writer = writers.forDeletes(findColumn(opened, text));
        const row = parseCellRow(writer.column, rowText);
        await printCommit(cli, opened.db, "delete", (tx) => writer.delete(tx, row));
      }),
    );
}
