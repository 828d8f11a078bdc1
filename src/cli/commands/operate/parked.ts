import type { Command } from "commander";
import { FailureGroups, isFailureMeant } from "../../../dashboard/index.js";
import type { ParkedChange } from "../../../observer/index.js";
import { definition } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand, parsedBy } from "../../command.js";
import {
  checkObserver,
  groupLines,
  groupToJson,
  parkedLines,
  parkedToJson,
  rowText,
} from "../../database/observed-text.js";
import { type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { parseRow, showRow } from "../../input/key-text.js";
import { findTable } from "../../input/target.js";
import { counted, cutToWidth } from "../../print/layout.js";
import { parseCount } from "../../time.js";
import { UsageError } from "../../usage-error.js";

interface ParkedCommandOptions {
  readonly observer?: string | undefined;
  readonly table?: string | undefined;
  readonly row?: string | undefined;
  readonly error?: string | undefined;
  readonly group?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly retry?: boolean | undefined;
  readonly discard?: boolean | undefined;
}

export function addParked(program: Command, cli: Cli): void {
  databaseCommand(program, "parked", {
    summary: "list parked changes (dead letters); retry or discard them",
    description:
      "Lists parked changes, with the last error. A change is parked after its observer has failed as often as its " +
      "attempts allow. With --retry the listed changes become due again. With --discard they count as handled. Without " +
      "--observer, --table, --row or --error, this means all parked changes. With --group it lists kinds of errors instead: " +
      "errors of one observer that differ only in ids, numbers and quoted strings are of one kind.",
    examples: [
      "parked ./data",
      "parked ./data --group",
      'parked ./data --error "was refused" --retry',
      "parked ./data --observer cluster --retry",
      "parked ./data --table documents --row https://example.org/ --discard",
      "parked ./data --json",
    ],
    json: [
      'A line for each change: {"observer","table","column","qualifier","row","attempts","parkedAt","error"}, the error as',
      '{"name","code","message","stack"}. With --retry or --discard also "done": false if it was no longer parked.',
      'With --group a line for each kind of error: {"observer","error","count","first","last","rows"}, with the newest rows.',
    ],
  })
    .option("--observer <name>", "only changes of this observer")
    .option("--table <name>", "only changes of this table")
    .option("--row <key>", "only changes of this row; a composite key as a JSON array")
    .option(
      "--error <text>",
      "only changes with this text in their error or its kind; upper and lower case are the same",
    )
    .option("--group", "list kinds of errors, each with its count, and not the changes")
    .option("--limit <n>", "at most this many changes, or kinds of errors", parsedBy(parseCount(1)))
    .option("--retry", "make them due again")
    .option("--discard", "count them as handled")
    .action((location: string, options: ParkedCommandOptions) =>
      withDatabase(cli, { reads: !options.retry && !options.discard, location }, async (opened) => {
        if (options.retry && options.discard)
          throw new UsageError("Give either --retry or --discard, not both.");
        if (options.group && (options.retry || options.discard))
          throw new UsageError(
            "--group only lists. To retry or discard one kind of error, give --error with a part of it, and --observer.",
          );
        if (options.table !== undefined) {
          const table = findTable(opened, options.table, "");
          if (options.row !== undefined) parseRow(table[definition], options.row);
        }
        await checkObserver(opened, options.observer);
        await (options.group ? listGroups(cli, opened, options) : handleParked(cli, opened, options));
      }),
    );
}

async function handleParked(cli: Cli, opened: OpenedDatabase, options: ParkedCommandOptions): Promise<void> {
  const { observer, limit = Number.POSITIVE_INFINITY } = options;
  const change = changeOf(opened, options);
  let count = 0;
  for await (const parked of opened.db.parked({ observer, signal: cli.signal })) {
    if (!isMeant(opened, parked, options)) continue;
    const done = await change?.(parked);
    const document = { ...parkedToJson(opened, parked), ...(done === undefined ? {} : { done }) };
    await cli.print(document, () =>
      parkedLines(opened, parked, cli.environment.now()).map((line) => cutToWidth(line, cli.out.width)),
    );
    if (++count >= limit) break;
  }
  const verb = options.retry ? " to be retried" : options.discard ? " discarded" : "";
  await cli.note(count === 0 ? "nothing is parked" : `${counted(count, "change")}${verb}`);
}

/** Lists the kinds of errors, the one with the newest change first. */
async function listGroups(cli: Cli, opened: OpenedDatabase, options: ParkedCommandOptions): Promise<void> {
  const { observer, limit = Number.POSITIVE_INFINITY } = options;
  const groups = new FailureGroups<ParkedChange>(({ parkedAt }) => parkedAt);
  let count = 0;
  for await (const parked of opened.db.parked({ observer, signal: cli.signal })) {
    if (!isMeant(opened, parked, options)) continue;
    groups.add(parked);
    count++;
  }
  const all = groups.list();
  for (const group of all.slice(0, limit)) {
    await cli.print(groupToJson(opened, group), () =>
      groupLines(opened, group, cli.environment.now()).map((line) => cutToWidth(line, cli.out.width)),
    );
  }
  const kinds = `${counted(all.length, "kind")} of error`;
  const others = groups.others === 0 ? "" : `; ${groups.others} more are of other kinds`;
  await cli.note(count === 0 ? "nothing is parked" : `${counted(count, "change")}, ${kinds}${others}`);
}

function changeOf(
  { db }: OpenedDatabase,
  { retry, discard }: ParkedCommandOptions,
): ((parked: ParkedChange) => Promise<boolean>) | undefined {
  if (retry) return (parked) => db.retry(parked);
  return discard ? (parked) => db.discard(parked) : undefined;
}

function isMeant(
  opened: OpenedDatabase,
  parked: ParkedChange,
  { table, row, error }: ParkedCommandOptions,
): boolean {
  if (table !== undefined && parked.table !== table) return false;
  if (!isFailureMeant(parked, { text: error })) return false;
  return row === undefined || isRow(opened, parked, row);
}

/** Whether a text that a person typed is the key of the change's row. JSON has several forms of one key. */
function isRow(opened: OpenedDatabase, parked: ParkedChange, text: string): boolean {
  const table = opened.table(parked.table);
  if (table === undefined) return rowText(opened, parked) === text;
  try {
    return showRow(table[definition], parseRow(table[definition], text)) === rowText(opened, parked);
  } catch {
    return false;
  }
}
