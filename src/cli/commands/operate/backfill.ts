import type { Command } from "commander";
import { definition } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { declaredBy, type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { parsePrefix } from "../../input/key-text.js";
import type { App } from "../../input/module.js";
import { counted } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { formatDuration } from "../../time.js";
import { UsageError } from "../../usage-error.js";

interface BackfillCommandOptions extends CoordinatorFlags {
  readonly prefix?: string | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

export function addBackfill(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "backfill", {
    summary: "make an observer due on existing cells",
    description:
      "Registers the module's tables and observers. Then makes one observer due on all cells of its column, or on those " +
      "of a range. Use it for a new observer, or for a new version of one. Workers run only what this version has not " +
      "handled. The database records the progress. If a backfill was interrupted, the next call first finishes it, and " +
      "then does its own range.",
    examples: [
      "backfill ./data ./app.ts cluster",
      "backfill ./data ./app.ts cluster --prefix https://example.org/",
      "backfill ./data ./app.ts cluster && percolator wait ./data",
    ],
    json: [
      '{"observer","marked","continued","durationMs"}: "marked" counts the cells that this call marked; "continued"',
      "says whether it first finished an earlier backfill.",
    ],
  });
  addCoordinatorFlags(command)
    .argument("<app>", "JavaScript or TypeScript module that default-exports { tables, observers }")
    .argument("<observer>", "name of the observer")
    .option(
      "--prefix <key>",
      "rows whose keys begin with this; for a composite key, its leading parts as a JSON array",
    )
    .option("--start <key>", "the first row, or leading parts of its composite key")
    .option("--end <key>", "the row after the last, or leading parts of its composite key")
    .action((location: string, app: string, observer: string, options: BackfillCommandOptions) => {
      const request = {
        location,
        app,
        coordinator: options,
        options: (loaded: App | undefined) => declared(loaded, observer),
      };
      return withDatabase(cli, request, (opened) => run(cli, opened, observer, options));
    });
}

/** Throws if the module has no observer of this name. Called before anything is registered. */
function declared(app: App | undefined, name: string) {
  const names = (app?.observers ?? []).map((each) => each.name);
  if (names.includes(name)) return declaredBy(app);
  const known = names.length === 0 ? "it has no observers" : `it has ${names.join(", ")}`;
  throw new UsageError(`The module has no observer ${JSON.stringify(name)}; ${known}.`, "OBSERVER");
}

async function run(
  cli: Cli,
  opened: OpenedDatabase,
  name: string,
  options: BackfillCommandOptions,
): Promise<void> {
  const record = (await opened.db.observers()).get(name)!;
  const range = rangeOf(opened, record.table, options);
  const continued = record.backfills.length > 0;
  for (const { marked } of record.backfills)
    await cli.note(`continuing a backfill that has marked ${counted(marked, "cell")}`);
  const progress = new Progress(cli);
  let before: number | undefined;
  const report = await opened.db
    .backfill(name, {
      range,
      signal: cli.signal,
      onProgress: ({ marked, share }) => {
        before ??= marked;
        const rate = progress.rate(Math.max(0, marked - before));
        progress.show(() => `${counted(marked, "cell")} marked, ${rate}${progress.left(share)}`);
      },
    })
    .finally(() => progress.end());
  const durationMs = Math.round(progress.elapsedMs);
  await cli.print({ observer: name, marked: report.marked, continued, durationMs }, () => [
    `${counted(report.marked, "cell")} marked for ${name} in ${formatDuration(durationMs)}`,
  ]);
}

function rangeOf(opened: OpenedDatabase, table: string, { prefix, start, end }: BackfillCommandOptions) {
  const defined = opened.table(table)![definition];
  return {
    prefix: prefix === undefined ? undefined : parsePrefix(defined, prefix),
    start: start === undefined ? undefined : parsePrefix(defined, start),
    end: end === undefined ? undefined : parsePrefix(defined, end),
  };
}
