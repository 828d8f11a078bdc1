/**
 * A third of the workers is killed under load and replaced; throughput is drawn over time, as in figure 10 of the paper, and
 * no change may be lost. Runs on Bigtable's emulator, which `BIGTABLE_EMULATOR_HOST` names or which is started here.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { CommanderError } from "commander";
import { type Database, open } from "percolatordb";
import { type Emulator, startEmulator } from "../../test/support/emulator/index.js";
import { appOf } from "./app.js";
import { chartOf, type Mark, type Sample } from "./chart.js";
import { Load } from "./load.js";
import { parseOptions, type RecoveryOptions } from "./options.js";
import { exitCodeOf, phasesOf, type Verdict } from "./verdict.js";
import { WorkerProcess } from "./worker-process.js";

const sampleMs = 1_000;
/** What a worker does in its first seconds says nothing. */
const warmUpMs = 5_000;

const say = (line: string) => process.stdout.write(`${line}\n`);
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  let emulator: Emulator | undefined;
  if (process.env.BIGTABLE_EMULATOR_HOST === undefined) {
    emulator = await startEmulator();
    process.env.BIGTABLE_EMULATOR_HOST = emulator.host;
  }
  try {
    return await measure(options);
  } finally {
    await emulator?.stop();
  }
}

async function measure(options: RecoveryOptions): Promise<number> {
  const location = `bigtable://bench/recovery?prefix=r${process.pid}`;
  await using db = await open(location, { ...appOf(options.work), collectEveryMs: 0, coordinator: "auto" });
  const all: WorkerProcess[] = [];
  try {
    return await killAndReplace(db, options, all, location);
  } finally {
    // Else they would live on where something failed, and this process with them.
    for (const worker of all) worker.abandon();
  }
}

async function killAndReplace(
  db: Database,
  options: RecoveryOptions,
  all: WorkerProcess[],
  location: string,
): Promise<number> {
  const { concurrency, work } = options;
  const start = async (count: number) => {
    const started = Array.from({ length: count }, () => new WorkerProcess(location, concurrency, work));
    all.push(...started);
    await Promise.all(started.map((worker) => worker.started));
    return started;
  };
  const living = await start(options.workers);
  const handled = () => all.reduce((sum, { committed }) => sum + committed, 0);
  const load = new Load(db, handled);
  load.start();
  await pause(warmUpMs);
  const watch = new Watch(handled);
  await pause(options.phase * 1_000);
  const third = living.splice(0, Math.ceil(options.workers / 3));
  watch.mark(`${third.length} of ${options.workers} killed`);
  await Promise.all(third.map((worker) => worker.kill()));
  await pause(options.phase * 1_000);
  const replacing = start(third.length);
  watch.mark("replacements started");
  living.push(...(await replacing));
  await pause(options.phase * 1_000);
  const { samples, marks } = watch.end();
  await load.stop();
  await db.idle();
  const wrong = await load.wrong();
  const problems = await db.check();
  for (const worker of living) await worker.stop();
  const verdict: Verdict = { changes: load.changes, wrong: wrong.length, problems: problems.length };
  say(`${load.changes} changes, ${wrong.length} lost or handled twice, ${problems.length} problems`);
  report(options, samples, marks, verdict);
  return exitCodeOf(verdict);
}

/** Counts the runs of each interval. */
class Watch {
  readonly #started = performance.now();
  readonly #samples: Sample[] = [];
  readonly #marks: Mark[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(handled: () => number) {
    let [before, beforeAt] = [handled(), this.#started];
    this.#timer = setInterval(() => {
      const [now, nowAt] = [handled(), performance.now()];
      const rate = ((now - before) * 1_000) / (nowAt - beforeAt);
      this.#samples.push({ at: (nowAt - this.#started) / 1_000, rate });
      [before, beforeAt] = [now, nowAt];
    }, sampleMs);
  }

  mark(text: string): void {
    this.#marks.push({ at: (performance.now() - this.#started) / 1_000, text });
  }

  end(): { readonly samples: readonly Sample[]; readonly marks: readonly Mark[] } {
    clearInterval(this.#timer);
    return { samples: this.#samples, marks: this.#marks };
  }
}

function report(
  { svg, json, workers, concurrency, work, phase }: RecoveryOptions,
  samples: readonly Sample[],
  marks: readonly Mark[],
  verdict: Verdict,
): void {
  for (const { at, rate } of samples) {
    const [mark] = marks.filter((each) => each.at > at - sampleMs / 1_000 && each.at <= at);
    say(`${at.toFixed(0).padStart(4)} s ${rate.toFixed(0).padStart(6)} runs/s ${mark?.text ?? ""}`);
  }
  const { before, during, after } = phasesOf(samples, marks);
  const part = (rate: number) => `${rate.toFixed(0)} runs/s (${((100 * rate) / before).toFixed(0)} %)`;
  say(`before the kill ${part(before)}, until the replacement ${part(during)}, at the end ${part(after)}`);
  if (svg !== undefined) write(svg, chartOf(samples, marks, `Runs committed per second, ${workers} workers`));
  if (json === undefined) return;
  const options = { workers, concurrency, work, phase };
  write(json, `${JSON.stringify({ ...options, before, during, after, ...verdict, marks, samples })}\n`);
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  say(`Written to ${path}`);
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  console.error(error);
  return 1;
});
