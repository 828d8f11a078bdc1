import type { Command } from "commander";
import type { MigrateReport } from "../../../evolution/index.js";
import { type AnyTable, definition } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { addPassFlags, type PassFlags, withPass } from "../../input/pass-flags.js";
import { exitCodes } from "../../print/exit.js";
import { counted } from "../../print/layout.js";
import { formatDuration } from "../../time.js";
import { UsageError } from "../../usage-error.js";

interface MigrateCommandOptions extends CoordinatorFlags, PassFlags {
  readonly check?: boolean | undefined;
}

export function addMigrate(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "migrate", {
    summary: "rewrite values of older versions",
    description:
      "Rewrites the values of older versions in the module's tables, or in some of them: the columns of json(schema, { version, " +
      "upgrade }). Readers get the same values before and after, so no observer runs, and no transaction conflicts. If the " +
      "command is interrupted, run it again: it continues. A program of the old version may still write old values, so run " +
      "the command when the last one has ended, or run it again then. With --check it rewrites nothing.",
    examples: [
      "migrate ./data ./app.ts --check",
      "migrate ./data ./app.ts --rate 1000",
      "migrate ./data ./app.ts orders customers",
    ],
    json: [
      '{"check","tables","durationMs"}. A table is',
      '{"table","columns","scanned","changed","failed","failures","continued"}: "columns" has the version of each column,',
      '"changed" counts the cells that were rewritten, or with --check those that would be. A failure is',
      '{"table","row","column","error"}: at most 100 are listed.',
    ],
    exit: ["1 if an upgrade failed for some cells, or with --check if older values are left."],
  });
  addPassFlags(addCoordinatorFlags(command))
    .argument("<app>", "JavaScript or TypeScript module that default-exports { tables, observers }")
    .argument("[table...]", "tables to migrate; default: all of the module that have versions")
    .option("--check", "count the older values and try their upgrades, but rewrite nothing")
    .action((location: string, app: string, tables: readonly string[], options: MigrateCommandOptions) =>
      withDatabase(cli, { location, app, reads: options.check, coordinator: options }, (opened) =>
        run(cli, opened, tables, options),
      ),
    );
}

async function run(
  cli: Cli,
  { db, app }: OpenedDatabase,
  names: readonly string[],
  options: MigrateCommandOptions,
): Promise<void> {
  const tables = chosen(app?.tables ?? [], names);
  const check = options.check === true;
  const done = check ? "are of older versions" : "rewritten";
  const [reports, durationMs] = await withPass(cli, options, done, async (pass, progress) => {
    const reports = await db.migrate(tables, { ...pass, check });
    return [reports, Math.round(progress.elapsedMs)] as const;
  });
  await cli.print({ check, tables: reports, durationMs }, () => [
    ...reports.flatMap((report) => lines(report, done)),
    reports.length === 0 ? "no column has a version" : `done in ${formatDuration(durationMs)}`,
  ]);
  const isWrong = reports.some(({ failed, changed }) => failed > 0 || (check && changed > 0));
  if (isWrong) cli.exitCode = exitCodes.data;
}

function chosen(tables: readonly AnyTable[], names: readonly string[]): readonly AnyTable[] {
  if (names.length === 0) return tables;
  return names.map((name) => {
    const found = tables.find((table) => table[definition].name === name);
    if (found !== undefined) return found;
    const known = tables.map((table) => table[definition].name).join(", ") || "none";
    throw new UsageError(
      `The module declares no table ${JSON.stringify(name)}; it declares ${known}.`,
      "SCHEMA",
    );
  });
}

function lines(
  { table, columns, scanned, changed, failed, failures }: MigrateReport,
  done: string,
): string[] {
  const versions = Object.entries(columns).map(([name, version]) => `${name} ${version}`);
  return [
    `${table} (${versions.join(", ")}): ${changed} of ${counted(scanned, "cell")} ${done}, ${failed} failed`,
    ...failures.map(({ row, column, error }) => `  ${table}.${column}, row ${row}: ${error}`),
  ];
}
