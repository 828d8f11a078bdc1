import type { Command } from "commander";
import type { LoadInfo } from "../../../observer/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { withDatabase } from "../../database/open-database.js";
import { counted, layOut } from "../../print/layout.js";
import { showTimestamp } from "../../time.js";

interface LoadsCommandOptions {
  readonly discard?: string | undefined;
}

export function addLoads(program: Command, cli: Cli): void {
  databaseCommand(program, "loads", {
    summary: "list bulk loads; discard an unfinished one",
    description:
      "Lists the bulk loads that programs began with db.load, the oldest first: how much of each is stored, and since when " +
      "its rows are visible. While a load is not published, its ranges refuse other writes. The program continues an " +
      "interrupted load when it calls db.load again. --discard removes the rows of an unfinished load instead, and opens " +
      "its ranges. If the load's process is alive, that waits up to 15 s, and fails if the load makes progress.",
    examples: ["loads ./data", "loads ./data --discard first-crawl", "loads ./data --json"],
    json: [
      'A line for each load: {"name","state","tables","rows","cells","publishedAt"}. "state" is "loading", "discarding" or',
      '"published"; "publishedAt" is null before that. With --discard: {"discarded": name}.',
    ],
  })
    .option("--discard <name>", "remove what this unfinished load has stored")
    .action((location: string, { discard }: LoadsCommandOptions) =>
      withDatabase(cli, { reads: discard === undefined, location }, async ({ db }) => {
        if (discard !== undefined) {
          await db.discardLoad(discard, { signal: cli.signal });
          await cli.print({ discarded: discard }, () => [`discarded ${discard}`]);
          return;
        }
        const loads = await db.loads();
        if (loads.length === 0) await cli.note("no bulk load was begun");
        else await printLoads(cli, loads);
      }),
    );
}

async function printLoads(cli: Cli, loads: readonly LoadInfo[]): Promise<void> {
  if (cli.json) {
    for (const load of loads) await cli.print({ ...load, publishedAt: load.publishedAt ?? null }, () => []);
    return;
  }
  const rows = loads.map(({ name, state, tables, rows: stored, cells, publishedAt }) => [
    name,
    publishedAt === undefined ? state : `${state} ${showTimestamp(publishedAt)}`,
    counted(stored, "row"),
    counted(cells, "cell"),
    tables.join(", "),
  ]);
  const columns = [
    { name: "load" },
    { name: "state" },
    { name: "rows" },
    { name: "cells" },
    { name: "tables" },
  ];
  await cli.print({}, () => layOut(columns, rows));
}
