/**
 * Kills a third of the workers under load and replaces them, as in figure 10 of the paper. No
 * change may be lost. Runs on Bigtable's emulator: `npm run recovery -- --help`.
 */
import { type Database, open } from "percolatordb";
import { type Child, withChildren } from "../harness/child.js";
import { pause } from "../harness/pause.js";
import { type CommonOptions, runProgram, sayProgress, whole, withEmulator } from "../harness/program.js";
import { documents, observersOf } from "../load/documents.js";
import { Load } from "../load/load.js";
import { leftBehind } from "../webindex/verdict.js";
import { describeRecovery, type Mark, phasesOf, type RecoveryResult, type Sample } from "./figure.js";
import type { Opening } from "./process.js";

interface Options extends CommonOptions {
  readonly workers: number;
  readonly concurrency: number;
  readonly work: number;
  readonly phase: number;
}

const sampleMs = 1_000;
/** A worker's first seconds are not measured. */
const warmUpMs = 5_000;
/** Enough waiting changes that no worker is ever idle. */
const maxWaiting = 400;

await runProgram<Options, RecoveryResult>({
  name: "recovery",
  about:
    "Kills a third of the workers under load, replaces them, and tells the throughput over time. No change may be lost.",
  examples: ["recovery", "recovery -- --phase 60 --json recovery.json"],
  wrongIf: "a change was lost or handled twice, a check finds a problem or a worker fails",
  define: (command) =>
    command
      .option("--workers <number>", "worker processes", whole, 6)
      .option("--concurrency <number>", "runs of each at a time", whole, 2)
      .option("--work <ms>", "how long each run waits for another service", whole, 300)
      .option("--phase <seconds>", "before the kill, until the replacement, and after it", whole, 20),
  measure: (options) => withEmulator(() => measure(options)),
  describe: describeRecovery,
  isRight: ({ changes = 0, wrong, problems }) => changes > 0 && wrong === 0 && problems === 0,
});

async function measure({ workers, concurrency, work, phase }: Options): Promise<RecoveryResult> {
  const location = `bigtable://bench/recovery?prefix=r${process.pid}`;
  const observers = observersOf(work);
  await using db = await open(location, {
    tables: [documents],
    observers,
    collectEveryMs: 0,
    coordinator: "auto",
  });
  const committed: number[] = [];
  const { load, samples, marks } = await withChildren(async (start) => {
    const startWorkers = async (count: number): Promise<readonly Child[]> => {
      const started = Array.from({ length: count }, () => {
        const number = committed.push(0) - 1;
        return start(new URL("./process.ts", import.meta.url), "A worker", {
          onTold: (told) => {
            committed[number] = told as number;
          },
        });
      });
      const opening: Opening = { location, concurrency, workMs: work };
      await Promise.all(started.map((child) => child.ask("open", opening)));
      return started;
    };
    const handled = () => committed.reduce((sum, each) => sum + each, 0);
    const all = await startWorkers(workers);
    return await killAndReplace(db, handled, all, phase * 1_000, startWorkers);
  });
  await db.idle();
  const verdict = {
    changes: load.updates,
    wrong: (await load.wrong()).length,
    problems: (await leftBehind(db)).length,
  };
  return { workers, concurrency, work, phase, ...phasesOf(samples, marks), ...verdict, marks, samples };
}

async function killAndReplace(
  db: Database,
  handled: () => number,
  all: readonly Child[],
  phaseMs: number,
  startWorkers: (count: number) => Promise<readonly Child[]>,
): Promise<{ readonly load: Load; readonly samples: readonly Sample[]; readonly marks: readonly Mark[] }> {
  const load = new Load(db, {
    rows: Number.POSITIVE_INFINITY,
    bytes: 100,
    mayBegin: (begun) => begun - handled() < maxWaiting,
  });
  load.start();
  await pause(warmUpMs);
  const started = performance.now();
  const secondsSoFar = () => (performance.now() - started) / 1_000;
  const samples: Sample[] = [];
  const marks: Mark[] = [];
  const mark = (text: string) => marks.push({ at: secondsSoFar(), text });
  let [before, beforeAt] = [handled(), 0];
  const sampling = setInterval(() => {
    const [now, at] = [handled(), secondsSoFar()];
    samples.push({ at, rate: (now - before) / (at - beforeAt) });
    [before, beforeAt] = [now, at];
    sayProgress(`${at.toFixed(0)} s ${samples.at(-1)!.rate.toFixed(0)} runs/s`);
  }, sampleMs);
  try {
    await pause(phaseMs);
    const third = all.slice(0, Math.ceil(all.length / 3));
    mark(`${third.length} of ${all.length} killed`);
    await Promise.all(third.map((child) => child.kill()));
    await pause(phaseMs);
    mark("replacements started");
    await startWorkers(third.length);
    await pause(phaseMs);
  } finally {
    clearInterval(sampling);
  }
  await load.stop();
  await db.idle();
  return { load, samples, marks };
}
