/**
 * An incident to look at: `npm run incident -- --help`. A folder with some hundreds of transactions a
 * second, an observer that fails for a third of its rows, one that falls behind, rows that conflict,
 * a process that is stopped and one whose transactions nobody sees.
 */

import { once } from "node:events";
import { mkdirSync } from "node:fs";
import type { Overview } from "../../src/dashboard/index.js";
import { buildPages } from "../../test/browser/support/pages.js";
import { type Child, withChildren } from "../harness/child.js";
import { pause } from "../harness/pause.js";
import {
  atLeast,
  type CommonOptions,
  runProgram,
  say,
  sayProgress,
  whole,
  withFolder,
} from "../harness/program.js";
import { right, table } from "../harness/words.js";
import { takePictures } from "./pictures.js";
import type { Opening } from "./process.js";

interface Options extends CommonOptions {
  readonly rate: number;
  readonly seconds: number;
  readonly stopped: number;
  readonly pictures?: string | undefined;
  readonly keep?: boolean | undefined;
}

interface Incident {
  readonly overview: Overview;
  /** What should have been seen and was not. */
  readonly missing: readonly string[];
}

await runProgram<Options, Incident>({
  name: "incident",
  about:
    "Reproduces an incident on a folder, to look at its dashboard: failures, a backlog that grows, conflicts on hot rows, and a process that is stopped.",
  examples: ["incident", "incident -- --pictures ./pictures", "incident -- --keep"],
  wrongIf: "a part of the incident does not occur, or a view does not appear",
  define: (command) =>
    command
      .argument("[views...]", "the only views to take pictures of")
      .option("--rate <number>", "orders a second; each causes four or five transactions", whole, 120)
      .option("--seconds <number>", "how long the incident lasts before one process is stopped", whole, 25)
      .option(
        "--stopped <number>",
        "how long the process is stopped before anything is looked at",
        atLeast(0),
        10,
      )
      .option("--pictures <folder>", "take pictures of every view: 1440 and 390 pixels wide, light and dark")
      .option("--keep", "go on until Ctrl-C, with the dashboard's address"),
  measure: (options) =>
    options.data === undefined
      ? withFolder("incident", (folder) => measure(folder, options))
      : measure(options.data, options),
  describe: ({ overview, missing }) => [
    `${overview.commitsPerSecond.toFixed(0)} commits and ${overview.conflictsPerSecond.toFixed(0)} conflicts a second. Silent: ${overview.silent.length}. Not seen: ${overview.unseen.length}.`,
    table(
      ["observer", ...["waiting", "oldest s", "parked", "runs/s", "failures/s", "conflicts/s"].map(right)],
      overview.observers.map((each) => [
        each.name,
        `${each.pending.count}${each.pending.isBound ? "+" : ""}`,
        ((each.oldestPendingMs ?? 0) / 1_000).toFixed(1),
        String(each.parked.count),
        ...[each.runsPerSecond, each.failuresPerSecond, each.conflictsPerSecond].map((rate) =>
          rate.toFixed(1),
        ),
      ]),
    ),
    ...missing.map((each) => `Missing: ${each}`),
  ],
  isRight: ({ missing }) => missing.length === 0,
});

async function measure(path: string, options: Options): Promise<Incident> {
  const pages = await buildPages();
  try {
    return await withChildren(async (start) => {
      const [shown, stopped, unseen] = ["The shown worker", "The stopped worker", "The unseen worker"].map(
        (what) => start(new URL("./process.ts", import.meta.url), what),
      ) as [Child, Child, Child];
      const open = (child: Child, opening: Partial<Opening>) =>
        child.ask<string>("open", { path, pages: undefined, from: [], ...opening } satisfies Opening);
      const from = [await open(stopped, { pages: pages.path })];
      await open(unseen, {});
      const url = await open(shown, { pages: pages.path, from });
      await shown.ask("load", options.rate);
      sayProgress(`the incident, ${url}`);
      await pause(options.seconds * 1_000);
      await stopSafely(stopped, shown);
      try {
        await pause(options.stopped * 1_000);
        const overview = (await (await fetch(new URL("api/overview", url))).json()) as Overview;
        const missing = [...missingOf(overview)];
        if (options.pictures !== undefined) {
          mkdirSync(options.pictures, { recursive: true });
          missing.push(...(await takePictures(url, options.pictures, options.args)));
        }
        if (options.keep) {
          say(`The dashboard is at ${url}. Ctrl-C ends it.`);
          await once(process, "SIGINT");
        }
        return { overview, missing };
      } finally {
        process.kill(stopped.pid, "SIGCONT");
      }
    });
  } finally {
    await pages.remove();
  }
}

/**
 * Stops a process as a debugger or an overloaded machine would. If it was stopped while it held the
 * lock of the folder's writer, nothing commits any more, so it is continued and stopped again.
 */
async function stopSafely(stopped: Child, shown: Child): Promise<void> {
  for (;;) {
    process.kill(stopped.pid, "SIGSTOP");
    const before = await shown.ask<number>("committed");
    for (let waits = 0; waits < 20; waits++) {
      await pause(50);
      if ((await shown.ask<number>("committed")) > before + 5) return;
    }
    process.kill(stopped.pid, "SIGCONT");
    await pause(200);
  }
}

/** The parts of the incident that the overview does not show. */
function* missingOf(overview: Overview): Generator<string> {
  const { observers, commitsPerSecond, conflictsPerSecond, silent, unseen } = overview;
  const of = (name: string) => observers.find((each) => each.name === name);
  if (commitsPerSecond < 50) yield `only ${commitsPerSecond.toFixed(0)} commits a second`;
  if (conflictsPerSecond === 0) yield "no conflict";
  if (!silent.some(({ exists }) => exists === true)) yield "the stopped process is not said to be silent";
  if (unseen.length === 0) yield "the process without a dashboard is not said to be unseen";
  if ((of("approve")?.parked.count ?? 0) < 10) yield "approve has parked fewer than ten changes";
  if ((of("receipts")?.oldestPendingMs ?? 0) < 5_000) yield "receipts is not behind";
  if ((of("notify")?.parked.count ?? 0) === 0 || (of("notify")?.pending.count ?? 0) === 0)
    yield "notify has not parked changes while it falls behind";
  if ((of("mail")?.retrying.count ?? 0) === 0) yield "mail has no change that is tried again";
}
