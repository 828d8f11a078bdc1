import type { Command } from "commander";
import type { DropTarget } from "../../../evolution/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { addPassFlags, type PassFlags, withPass } from "../../input/pass-flags.js";
import { findTarget } from "../../input/target.js";
import { counted } from "../../print/layout.js";
import { formatDuration } from "../../time.js";
import { UsageError } from "../../usage-error.js";

interface DropCommandOptions extends CoordinatorFlags, PassFlags {
  readonly release?: boolean | undefined;
}

export function addDrop(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "drop", {
    summary: "remove a table or a column with its cells",
    description:
      "Takes a table, or a column, family or signal of one, out of what the database records, and removes its cells. " +
      "Refuses while a worker's program declares it, or an observer, a feed, a unique constraint or an exact index uses " +
      "it. From then on no process can write there, and a program that declares the name cannot open the database. If the " +
      "command is interrupted, run it again: it continues. Old versions stay for snapshots until garbage collection.",
    examples: [
      "drop ./data orders.total",
      "drop ./data orders --rate 1000",
      "drop ./data orders.total --release",
    ],
    json: [
      '{"table","column","removed","continued","durationMs"}, or with --release {"table","column","released"}.',
    ],
  });
  addPassFlags(addCoordinatorFlags(command))
    .argument("<name>", "TABLE, or TABLE.COLUMN")
    .option("--release", "let programs use the name of what was dropped again")
    .action((location: string, name: string, options: DropCommandOptions) =>
      withDatabase(cli, { location, coordinator: options }, async (opened) => {
        const { db } = opened;
        const target = targetOf(name);
        const { dropped } = await db.schema();
        if (!dropped.some(({ table, column }) => table === target.table && column === target.column)) {
          checkKnown(opened, name);
        }
        if (options.release === true) {
          await db.release(target);
          await cli.print({ ...target, released: true }, () => [`${name} may be declared again`]);
          return;
        }
        const [{ removed, continued }, durationMs] = await withPass(
          cli,
          options,
          "removed",
          async (pass, progress) => {
            const report = await db.drop(target, pass);
            return [report, Math.round(progress.elapsedMs)] as const;
          },
        );
        await cli.print({ ...target, removed, continued, durationMs }, () => [
          `${name} dropped: ${counted(removed, "cell")} removed in ${formatDuration(durationMs)}`,
        ]);
      }),
    );
}

/** Throws a {@link UsageError} for a name that cannot be dropped. */
function checkKnown(opened: OpenedDatabase, name: string): void {
  const found = findTarget(opened, name, "");
  if (found.kind !== "column" || found.column.qualifier === undefined) return;
  throw new UsageError(`${name} is a cell. \`drop\` takes a TABLE or a TABLE.COLUMN.`, "SCHEMA");
}

function targetOf(name: string): DropTarget {
  const dot = name.indexOf(".");
  return dot < 0 ? { table: name } : { table: name.slice(0, dot), column: name.slice(dot + 1) };
}
