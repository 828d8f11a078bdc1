import type { Command } from "commander";
import { formatValue, valueToJson } from "../../../schema/index.js";
import type { ScanOptions, Snapshot } from "../../../transaction/index.js";
import type { Cli } from "../../cli.js";
import { addAppOption, type DatabaseOptions, databaseCommand, parsedBy } from "../../command.js";
import { withDatabase } from "../../database/open-database.js";
import {
  familyCells,
  familyToJson,
  noteCustomCodecs,
  rowCells,
  rowToJson,
} from "../../database/value-text.js";
import { parsePrefix, parseRow, showRow } from "../../input/key-text.js";
import { findTarget, noValues, type Target } from "../../input/target.js";
import { cutToWidth, oneLine } from "../../print/layout.js";
import { parseCount, parseMoment } from "../../time.js";

interface ScanCommandOptions extends DatabaseOptions {
  readonly prefix?: string | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly after?: string | undefined;
  readonly reverse?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly at?: number | Date | undefined;
}

export function addScan(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "scan", {
    summary: "print the rows of a table, or of one of its columns",
    description:
      "Prints rows in the order of their keys, as of one snapshot. For TABLE.COLUMN, prints the rows that have a value " +
      "there: on each line the key, a tab and the value. For TABLE or TABLE.FAMILY, prints each row's key, and the " +
      "row's cells below it. Line ends and control characters in keys and values are shown as in JSON. On a terminal, " +
      "lines are cut to its width.",
    examples: [
      "scan ./data documents.title --prefix https://example.org/ --limit 10",
      "scan ./data documents --start a --end b --reverse",
      "scan ./data documents.contents --at 2025-01-31T12:00:00Z --json > contents.jsonl",
      "scan ./data documents --after https://example.org/last --limit 100",
      `scan ./data visits.seconds --prefix '["https://example.org/"]'`,
    ],
    json: [
      'A line for each row: for a column {"row","value"}, for a family {"row","cells"} by qualifier, for a table',
      '{"row","columns"}, each family an object by qualifier.',
    ],
  });
  addAppOption(command)
    .argument("<target>", "TABLE, TABLE.COLUMN, TABLE.FAMILY or TABLE.FAMILY:QUALIFIER")
    .option(
      "--prefix <key>",
      "rows whose keys begin with this; for a composite key, its leading parts as a JSON array",
    )
    .option("--start <key>", "the first row, or leading parts of its composite key")
    .option("--end <key>", "the row after the last, or leading parts of its composite key")
    .option("--after <key>", "begin behind this row: the last one of the page before")
    .option("--reverse", "from the last row to the first")
    .option("--limit <n>", "at most this many rows", parsedBy(parseCount(0)))
    .option("--at <time>", "as of a timestamp or an ISO date, within the retention", parsedBy(parseMoment))
    .action((location: string, text: string, options: ScanCommandOptions) =>
      withDatabase(cli, { reads: true, location, app: options.app }, async (opened) => {
        const target = findTarget(opened, text);
        if (target.kind === "signal") throw noValues(target.signal);
        const range = scanOptions(target, options);
        const only = target.kind === "table" ? undefined : nameOf(target);
        await noteCustomCodecs(cli, opened, target.defined, only);
        await using snapshot = await opened.db.snapshot({ at: options.at, signal: cli.signal });
        await scanTarget(cli, snapshot, target, range);
      }),
    );
}

type ValuedTarget = Exclude<Target, { readonly kind: "signal" }>;

function nameOf(target: Exclude<ValuedTarget, { readonly kind: "table" }>): string {
  return target.kind === "column" ? target.column.name : target.family.name;
}

function scanOptions({ defined }: Target, options: ScanCommandOptions): ScanOptions<unknown> {
  const { prefix, start, end, after, reverse, limit } = options;
  return {
    prefix: prefix === undefined ? undefined : parsePrefix(defined, prefix),
    start: start === undefined ? undefined : parsePrefix(defined, start),
    end: end === undefined ? undefined : parsePrefix(defined, end),
    after: after === undefined ? undefined : parseRow(defined, after),
    reverse,
    limit,
  };
}

async function scanTarget(
  cli: Cli,
  snapshot: Snapshot,
  target: ValuedTarget,
  options: ScanOptions<unknown>,
): Promise<void> {
  const { defined } = target;
  const line = (text: string) => cutToWidth(text, cli.out.width);
  const indented = ({ name, text }: { readonly name: string; readonly text: string }) =>
    line(`  ${oneLine(name)}  ${oneLine(text)}`);
  if (target.kind === "column") {
    const { column } = target;
    for await (const item of snapshot.scan(column, options)) {
      const row = showRow(defined, item.row);
      await cli.print({ row, value: valueToJson(item.value) }, () => [
        line(`${oneLine(row)}\t${oneLine(formatValue(column.codec, item.value))}`),
      ]);
    }
  } else if (target.kind === "family") {
    const { name, codec } = target.family;
    for await (const item of snapshot.scan(target.family, options)) {
      const row = showRow(defined, item.row);
      await cli.print({ row, cells: familyToJson(item.value) }, () => [
        line(oneLine(row)),
        ...familyCells(name, codec, item.value).map(indented),
      ]);
    }
  } else {
    for await (const item of snapshot.scan(target.table, options)) {
      const row = showRow(defined, item.row);
      await cli.print({ row, columns: rowToJson(target.table, item.value) }, () => [
        line(oneLine(row)),
        ...rowCells(target.table, item.value).map(indented),
      ]);
    }
  }
}
