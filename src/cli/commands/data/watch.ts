import type { Command } from "commander";
import type { CellChange } from "../../../live/index.js";
import { formatValue, type TableDefinition, valueToJson } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { addAppOption, type DatabaseOptions, databaseCommand, parsedBy } from "../../command.js";
import { withDatabase } from "../../database/open-database.js";
import { noteCustomCodecs } from "../../database/value-text.js";
import { parsePrefix, showRow } from "../../input/key-text.js";
import { findTarget, noValues } from "../../input/target.js";
import { cutToWidth, oneLine } from "../../print/layout.js";
import { parseDuration, parseMoment, showTimestamp } from "../../time.js";

interface WatchCommandOptions extends DatabaseOptions {
  readonly prefix?: string | undefined;
  readonly since?: string | undefined;
}

export function addWatch(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "watch", {
    summary: "print the changes of a table or a column as they are committed",
    description:
      "Prints each committed change, by any process, in the order of the commits, until SIGINT or SIGTERM: the " +
      "approximate time of the commit, put or delete, the row's key, the column and the new value, with tabs between " +
      "them. Line ends and control characters are shown as in JSON. On a terminal, lines are cut to its width. While " +
      "the command runs, and until the first garbage collection more than two minutes after it, each transaction " +
      "that changes the table writes one more cell.",
    examples: [
      "watch ./data orders",
      "watch ./data orders.state --prefix 2026- --since 10m",
      "watch ./data orders.total --since 2026-01-31T12:00:00Z --json > changes.jsonl",
    ],
    json: [
      'A line for each change: {"time","commitTimestamp","row","column","qualifier","kind","value","label","observer",',
      '"isLast"}; "kind" is "put" or "delete". A delete has no "value". The last change of a transaction has "isLast".',
    ],
    exit: ["0 after a signal."],
  });
  addAppOption(command)
    .argument("<target>", "TABLE, TABLE.COLUMN, TABLE.FAMILY or TABLE.FAMILY:QUALIFIER")
    .option(
      "--prefix <key>",
      "rows whose keys begin with this; for a composite key, its leading parts as a JSON array",
    )
    .option(
      "--since <time>",
      "also earlier changes: since a timestamp, an ISO date, or a duration ago, within the retention",
      parsedBy(checkedSince),
    )
    .action((location: string, text: string, options: WatchCommandOptions) =>
      cli.untilSignal(() =>
        withDatabase(cli, { location, app: options.app }, async (opened) => {
          const target = findTarget(opened, text);
          if (target.kind === "signal") throw noValues(target.signal);
          const { defined } = target;
          const watched =
            target.kind === "table" ? target.table : target.kind === "column" ? target.column : target.family;
          const only = target.kind === "table" ? undefined : (watched as { readonly name: string }).name;
          await noteCustomCodecs(cli, opened, defined, only);
          const prefix = options.prefix === undefined ? undefined : parsePrefix(defined, options.prefix);
          const since = options.since === undefined ? undefined : momentOf(cli, options.since);
          const changes = opened.db.watch(watched, { prefix: prefix as never, since, signal: cli.signal });
          await print(cli, defined, changes as AsyncIterable<CellChange>);
        }),
      ),
    );
}

/** Prints changes until the command must end. */
async function print(cli: Cli, table: TableDefinition, changes: AsyncIterable<CellChange>): Promise<void> {
  cli.isEndless = true;
  try {
    for await (const change of changes) {
      await cli.print(changeToJson(table, change), () => [
        cutToWidth(changeLine(table, change), cli.out.width),
      ]);
    }
  } catch (error) {
    if (cli.endSignal === undefined) throw error;
  }
}

function changeToJson(table: TableDefinition, change: CellChange): object {
  const { commitTimestamp, row, column, qualifier, value, isDeleted, label, observer, isLast } = change;
  return {
    time: showTimestamp(commitTimestamp),
    commitTimestamp,
    row: showRow(table, row),
    column: column.name,
    ...(qualifier === undefined ? {} : { qualifier }),
    kind: isDeleted ? "delete" : "put",
    ...(isDeleted ? {} : { value: valueToJson(value) }),
    ...(label === undefined ? {} : { label }),
    ...(observer === undefined ? {} : { observer }),
    isLast,
  };
}

function changeLine(table: TableDefinition, change: CellChange): string {
  const { commitTimestamp, row, column, qualifier, value, isDeleted } = change;
  const path = qualifier === undefined ? column.name : `${column.name}:${qualifier}`;
  const words = [
    showTimestamp(commitTimestamp),
    isDeleted ? "delete" : "put",
    oneLine(showRow(table, row)),
    oneLine(path),
  ];
  if (!isDeleted) words.push(oneLine(formatValue(column.codec, value)));
  return words.join("\t");
}

const duration = /^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/;

/** Checks a moment in the past without a clock, so that a wrong one is refused with the other options. */
function checkedSince(text: string): string {
  if (duration.test(text)) parseDuration(text);
  else parseMoment(text);
  return text;
}

function momentOf(cli: Cli, text: string): number | Date {
  if (!duration.test(text)) return parseMoment(text);
  return new Date(cli.environment.now() - parseDuration(text));
}
