import type { Command } from "commander";
import type { SchemaDifference, SchemaReport } from "../../../evolution/index.js";
import type { ColumnDescription, TableDescription } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { withDatabase } from "../../database/open-database.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { exitCodes } from "../../print/exit.js";
import { counted } from "../../print/layout.js";
import { formatDuration } from "../../time.js";

export function addSchema(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "schema", {
    summary: "print what is recorded, and how a module differs",
    description:
      "Prints what the database records: tables with their keys, columns, codecs and versions, unique constraints and exact " +
      "indexes with the column that they are written with, observers, feeds, dropped names, migrations and drops that have not ended, " +
      "and unique constraints and indexes that must be rebuilt. With a module, also each " +
      "difference between the module and the record, and what deals with it: open, migrate, rebuild, backfill, drop, unregister, " +
      "removeFeed, or a change of the program. Changes nothing, so it can run before a deploy.",
    examples: ["schema ./data", "schema ./data ./app.ts", "schema ./data ./app.ts --json"],
    json: [
      '{"tables","observers","feeds","dropped","unfinished","rebuildsDue","differences"}. A table is',
      '{"name","key","columns","writtenWith","version","firstVersion"}, a column {"name","kind","codec","schema","version","ttlMs"}.',
      'A rebuild that is due is {"table","version","built"}. A difference is {"name","action","text"}, where "action" is open,',
      "migrate, rebuild, backfill, drop, unregister, removeFeed or program.",
    ],
    exit: ["1 if the module differs from what is recorded."],
  });
  addCoordinatorFlags(command)
    .argument("[app]", "JavaScript or TypeScript module that default-exports { tables, observers, feeds }")
    .action((location: string, app: string | undefined, options: CoordinatorFlags) =>
      withDatabase(cli, { location, app, reads: true, coordinator: options }, async ({ db, app: loaded }) => {
        const report = await db.schema(loaded);
        await cli.print(report, () => [
          ...recordedLines(report),
          ...(loaded === undefined ? [] : differenceLines(report.differences)),
        ]);
        if (report.differences.length > 0) cli.exitCode = exitCodes.data;
      }),
    );
}

function recordedLines(report: SchemaReport): readonly string[] {
  const { tables, observers, feeds, dropped, unfinished, rebuildsDue } = report;
  return [
    ...tables.flatMap(tableLines),
    ...observers.map(
      ({ name, table, column, version }) => `observer ${name}: ${table}.${column}, version ${version}`,
    ),
    ...feeds.map(
      ({ name, columns, retentionMs }) =>
        `feed ${name}: ${columns.join(", ")}, kept for ${formatDuration(retentionMs)}`,
    ),
    ...dropped.map(
      ({ table, column, droppedAt }) => `dropped ${nameOf(table, column)} at ${droppedAt.toISOString()}`,
    ),
    ...unfinished.map(
      ({ kind, table, column, changed }) =>
        `unfinished ${kind} of ${nameOf(table, column)}: ${counted(changed, "cell")} so far`,
    ),
    ...rebuildsDue.map(
      ({ table, version, built }) =>
        `rebuild due of ${table}: entries of version ${built}, kept in version ${version}`,
    ),
  ];
}

function nameOf(table: string, column: string | undefined): string {
  return column === undefined ? table : `${table}.${column}`;
}

function tableLines({ name, key, columns, writtenWith, version }: TableDescription): readonly string[] {
  const kept =
    writtenWith === undefined
      ? ""
      : `, written with ${writtenWith.table}.${writtenWith.column}${writtenWith.qualifier === undefined ? "" : `:${writtenWith.qualifier}`}`;
  const edition = version === undefined ? "" : `, version ${version}`;
  return [
    `table ${name}: key ${key}${kept}${edition}`,
    ...columns.map((column) => `  ${columnText(column)}`),
  ];
}

function columnText({ name, kind, codec, schema, version, ttlMs }: ColumnDescription): string {
  const words = [
    ...(kind === "column" ? [] : [kind]),
    ...(codec === null ? [] : [codec]),
    ...(schema === true ? ["with a schema"] : []),
    ...(version === undefined ? [] : [`version ${version}`]),
    ...(typeof ttlMs === "number" ? [`expires after ${formatDuration(ttlMs)}`] : []),
  ];
  return `${name}: ${words.join(", ")}`;
}

function differenceLines(differences: readonly SchemaDifference[]): readonly string[] {
  if (differences.length === 0) return ["the module declares what is recorded"];
  return differences.map(({ name, action, text }) => `differs: ${name} [${action}] ${text}`);
}
