import type { Command } from "commander";
import { definition, formatValue, valueToJson } from "../../../schema/index.js";
import type { Snapshot } from "../../../transaction/index.js";
import type { Cli } from "../../cli.js";
import { addAppOption, type DatabaseOptions, databaseCommand, parsedBy } from "../../command.js";
import { type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { noteCustomCodecs, rowCells, rowToJson } from "../../database/value-text.js";
import { parseCellRow, parseRow, showRow } from "../../input/key-text.js";
import { findTarget, noValues, type Target } from "../../input/target.js";
import { exitCodes } from "../../print/exit.js";
import { layOutPairs, oneLine } from "../../print/layout.js";
import { parseMoment } from "../../time.js";

interface GetOptions extends DatabaseOptions {
  readonly at?: number | Date | undefined;
}

export function addGet(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "get", {
    summary: "print a cell, the cells of a family, or a row",
    description:
      "Prints the value of a cell. For TABLE.FAMILY, prints every cell that the row has in the family. For TABLE, " +
      "prints all cells of the row. Text is printed as text, bytes as base64, JSON as JSON.",
    examples: [
      "get ./data documents.contents https://example.org/",
      "get ./data documents.anchors:https://example.com/ https://example.org/",
      "get ./data documents https://example.org/ --at 2025-01-31T12:00:00Z",
      `get ./data visits.seconds '["https://example.org/",2024]'`,
    ],
    json: [
      '{"table","row","column","qualifier","found","value"}; without "qualifier" for a column, without "value" if there',
      'is none. For a row: {"table","row","found","columns"}, each family an object by qualifier. For a family: a line',
      'for each cell, {"qualifier","value"}.',
    ],
    exit: ["1 if there is nothing: no value, no cell, no row. Without --json, nothing is printed then."],
  });
  addAppOption(command)
    .argument("<target>", "TABLE.COLUMN, TABLE.FAMILY:QUALIFIER, TABLE.FAMILY or TABLE")
    .argument("<row>", "the row's key; a composite key as a JSON array")
    .option("--at <time>", "as of a timestamp or an ISO date, within the retention", parsedBy(parseMoment))
    .action((location: string, target: string, row: string, options: GetOptions) =>
      withDatabase(cli, { reads: true, location, app: options.app }, async (opened) => {
        const found = await getTarget(cli, opened, findTarget(opened, target), row, options);
        if (!found) cli.exitCode = exitCodes.data;
      }),
    );
}

/** Prints what a row contains for a target. Returns whether it found anything. */
async function getTarget(
  cli: Cli,
  opened: OpenedDatabase,
  target: Target,
  rowText: string,
  { at }: GetOptions,
): Promise<boolean> {
  if (target.kind === "signal") throw noValues(target.signal);
  const row =
    target.kind === "column" ? parseCellRow(target.column, rowText) : parseRow(target.defined, rowText);
  await using snapshot = await opened.db.snapshot({ at, signal: cli.signal });
  if (target.kind === "table") {
    await noteCustomCodecs(cli, opened, target.defined);
    return await getRow(cli, snapshot, target, row);
  }
  const named = target.kind === "column" ? target.column : target.family;
  await noteCustomCodecs(cli, opened, target.defined, named.name);
  return target.kind === "column"
    ? await getCell(cli, snapshot, target, row)
    : await getFamily(cli, snapshot, target, row);
}

type TargetOf<K extends Target["kind"]> = Extract<Target, { readonly kind: K }>;

async function getCell(
  cli: Cli,
  snapshot: Snapshot,
  { column }: TargetOf<"column">,
  row: unknown,
): Promise<boolean> {
  const value = await snapshot.get(column, row);
  const found = value !== undefined;
  const { table, name, qualifier } = column;
  const place = { table: table.name, row: showRow(table, row), column: name, qualifier };
  const document = { ...place, found, ...(found ? { value: valueToJson(value) } : {}) };
  // A program reads the value as it is. On a terminal its characters could be commands.
  if (found && !cli.json && !cli.out.isTerminal) {
    await cli.out.write(`${formatValue(column.codec, value)}\n`);
  } else {
    await cli.print(document, () => (found ? [formatValue(column.codec, value)] : []));
  }
  return found;
}

async function getRow(
  cli: Cli,
  snapshot: Snapshot,
  { table }: TargetOf<"table">,
  row: unknown,
): Promise<boolean> {
  const value = await snapshot.row(table, row);
  const found = value !== undefined;
  const place = { table: table[definition].name, row: showRow(table[definition], row) };
  const document = { ...place, found, ...(found ? { columns: rowToJson(table, value) } : {}) };
  await cli.print(document, () => {
    if (!found) return [];
    return layOutPairs(rowCells(table, value).map(({ name, text }) => [oneLine(name), oneLine(text)]));
  });
  return found;
}

async function getFamily(
  cli: Cli,
  snapshot: Snapshot,
  { family }: TargetOf<"family">,
  row: unknown,
): Promise<boolean> {
  let found = false;
  for await (const { qualifier, value } of snapshot.entries(family, row)) {
    found = true;
    await cli.print({ qualifier, value: valueToJson(value) }, () => [
      `${oneLine(qualifier)}\t${oneLine(formatValue(family.codec, value))}`,
    ]);
  }
  return found;
}
