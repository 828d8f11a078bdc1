import type { Command } from "commander";
import type { AnyLookup, RebuildReport } from "../../../recipes/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { exitCodes } from "../../print/exit.js";
import { counted } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { formatDuration } from "../../time.js";
import { UsageError } from "../../usage-error.js";

interface RebuildCommandOptions extends CoordinatorFlags {
  readonly resume?: string | undefined;
}

interface Rebuilt extends RebuildReport {
  readonly name: string;
}

export function addRebuild(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "rebuild", {
    summary: "rebuild unique constraints and indexes",
    description:
      "Makes the entries of the module's unique constraints and indexes, or of some of them, those of the current definition: " +
      "for columns that were written before, and after a change of `by` or `of`. The module lists them in `lookups` of its " +
      "default export. Adds what is missing, then removes what no row has any more. Programs with the current definition " +
      "may write meanwhile, so first deploy it everywhere. Rows whose value another row owns keep it, and are listed.",
    examples: [
      "rebuild ./data ./app.ts",
      "rebuild ./data ./app.ts emails by_city",
      "rebuild ./data ./app.ts emails --resume release-42",
    ],
    json: [
      '{"rebuilt","durationMs"}. An entry of "rebuilt" is',
      '{"name","visited","added","removed","duplicates","examples","continued"}: "visited" counts rows and entries that were',
      'looked at, "duplicates" rows whose value another row owns. An example of those is {"key","owner","row"}: at most 100 are',
      "listed.",
    ],
    exit: ["1 if rows of a unique constraint have the same value."],
  });
  addCoordinatorFlags(command)
    .argument("<app>", "JavaScript or TypeScript module that default-exports { tables, lookups }")
    .argument("[name...]", "unique constraints and indexes to rebuild; default: all of the module")
    .option(
      "--resume <name>",
      "continue an interrupted rebuild of this name; use another one after each change of the definition",
    )
    .action((location: string, app: string, names: readonly string[], options: RebuildCommandOptions) =>
      withDatabase(cli, { location, app, coordinator: options }, (opened) =>
        run(cli, opened, names, options),
      ),
    );
}

async function run(
  cli: Cli,
  { db, app }: OpenedDatabase,
  names: readonly string[],
  { resume }: RebuildCommandOptions,
): Promise<void> {
  const lookups = chosen(app?.lookups ?? [], names);
  const progress = new Progress(cli);
  const rebuilt: Rebuilt[] = [];
  try {
    for (const lookup of lookups) {
      const report = await lookup.rebuild(db, {
        resume,
        signal: cli.signal,
        onProgress: ({ visited, added, removed }) =>
          progress.show(() => `${lookup.name}: ${visited} visited, ${added} added, ${removed} removed`),
      });
      rebuilt.push({ name: lookup.name, ...report });
    }
  } finally {
    progress.end();
  }
  const durationMs = Math.round(progress.elapsedMs);
  await cli.print({ rebuilt, durationMs }, () => [
    ...rebuilt.flatMap(lines),
    `done in ${formatDuration(durationMs)}`,
  ]);
  if (rebuilt.some(({ duplicates }) => duplicates > 0)) cli.exitCode = exitCodes.data;
}

function chosen(lookups: readonly AnyLookup[], names: readonly string[]): readonly AnyLookup[] {
  if (lookups.length === 0) {
    throw new UsageError(
      "The module declares no unique constraints and no indexes: list them in `lookups` of its default export.",
      "SCHEMA",
    );
  }
  if (names.length === 0) return lookups;
  return names.map((name) => {
    const found = lookups.find((lookup) => lookup.name === name);
    if (found !== undefined) return found;
    const known = lookups.map((lookup) => lookup.name).join(", ");
    throw new UsageError(
      `The module declares no unique constraint or index ${JSON.stringify(name)}; it declares ${known}.`,
      "SCHEMA",
    );
  });
}

function lines({ name, added, removed, duplicates, examples }: Rebuilt): string[] {
  const isWrong = duplicates === 0 ? "" : `, ${counted(duplicates, "row")} with the value of another`;
  return [
    `${name}: ${added} added, ${removed} removed${isWrong}`,
    ...examples.map(({ key, owner, row }) => `  ${row} has ${JSON.stringify(key)} of ${owner}`),
  ];
}
