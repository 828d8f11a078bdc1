/** A brokerage over one process and several, as in figure 9 of the paper. See `npm run brokerage -- --help`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { open } from "percolatordb";
import { type Emulator, startEmulator } from "../../test/support/emulator/index.js";
import { Child, type Counts } from "./child.js";
import { audit, seed } from "./market.js";
import { observers, tables } from "./tables.js";

interface Options {
  readonly processes: number;
  readonly clients: number;
  readonly concurrency: number;
  readonly seconds: number;
  readonly store: "lmdb" | "bigtable";
  readonly data: string | undefined;
  readonly json: string | undefined;
}

interface Figure {
  readonly processes: number;
  /** Of customers, of the market and of observers, a second. */
  readonly transactionsPerSecond: number;
  readonly runsPerSecond: number;
  readonly conflictShare: number;
  /** To the store and its oracle, for each transaction of a customer, the market or an observer. */
  readonly requests: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
}

const warmUpMs = 2_000;
const say = (line: string) => process.stdout.write(`${line}\n`);
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function whole(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}

function store(text: string): Options["store"] {
  if (text === "lmdb" || text === "bigtable") return text;
  throw new InvalidArgumentError("It must be lmdb or bigtable.");
}

function parseOptions(args: readonly string[]): Options {
  const command = new Command("brokerage")
    .description(
      "Customers who trade by way of brokers, over one process and several: transactions a second.",
    )
    .option("--processes <number>", "up to so many", whole, 2)
    .option("--clients <number>", "customers at a time, in all", whole, 64)
    .option("--concurrency <number>", "runs of observers at a time, in each process", whole, 32)
    .option("--seconds <number>", "for each number of processes", whole, 10)
    .option("--store <name>", "lmdb, or bigtable: the emulator", store, "lmdb")
    .option("--data <folder>", "where to make the databases (default: a temporary folder)")
    .option("--json <file>", "where to write the figures")
    .exitOverride();
  command.parse([...args], { from: "user" });
  return command.opts<Options>();
}

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  let emulator: Emulator | undefined;
  if (options.store === "bigtable" && process.env.BIGTABLE_EMULATOR_HOST === undefined) {
    emulator = await startEmulator();
    process.env.BIGTABLE_EMULATOR_HOST = emulator.host;
  }
  const figures: Figure[] = [];
  try {
    for (let processes = 1; processes <= options.processes; processes++) {
      const figure = await measure(options, processes);
      figures.push(figure);
      say(describe(figure, figures[0]!));
    }
  } finally {
    await emulator?.stop();
  }
  if (options.json !== undefined) {
    mkdirSync(dirname(options.json), { recursive: true });
    writeFileSync(options.json, `${JSON.stringify(figures, undefined, 2)}\n`);
  }
  return figures.every(({ wrong }) => wrong.length === 0) ? 0 : 1;
}

async function measure(options: Options, processes: number): Promise<Figure> {
  const folder = mkdtempSync(join(options.data ?? tmpdir(), "percolatordb-brokerage-"));
  const location =
    options.store === "lmdb" ? folder : `bigtable://bench/brokerage?prefix=b${process.pid}x${processes}`;
  try {
    await using db = await open(location, { tables, observers, collectEveryMs: 0, coordinator: "auto" });
    await seed(db);
    const clients = Math.ceil(options.clients / processes);
    const children = Array.from(
      { length: processes },
      (_, number) => new Child(location, number, clients, options.concurrency),
    );
    try {
      const [before, after, seconds] = await run(children, options.seconds);
      await db.idle();
      return figureOf(processes, before, after, seconds, await audit(db));
    } finally {
      for (const child of children) child.kill();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function run(
  children: readonly Child[],
  seconds: number,
): Promise<readonly [before: readonly Counts[], after: readonly Counts[], seconds: number]> {
  await Promise.all(children.map(({ ready }) => ready));
  for (const child of children) child.begin();
  await pause(warmUpMs);
  const counts = () => Promise.all(children.map((child) => child.counts()));
  const before = await counts();
  const began = performance.now();
  await pause(seconds * 1_000);
  const after = await counts();
  const took = (performance.now() - began) / 1_000;
  await Promise.all(children.map((child) => child.end()));
  return [before, after, took];
}

function figureOf(
  processes: number,
  before: readonly Counts[],
  after: readonly Counts[],
  seconds: number,
  wrong: readonly string[],
): Figure {
  const gained = (of: (counts: Counts) => number) =>
    after.reduce((sum, counts, index) => sum + of(counts) - of(before[index]!), 0);
  const runs = gained(({ runs }) => runs);
  const transactions = runs + gained(({ order, feed, position, lookup }) => order + feed + position + lookup);
  const conflicts = gained(({ conflicts }) => conflicts);
  const kinds = ["read", "scan", "conditionalMutation", "plainMutation", "timestamp"] as const;
  const requests = Object.fromEntries(
    kinds.map((kind) => [kind, gained(({ requests }) => requests[kind]) / transactions]),
  );
  return {
    processes,
    transactionsPerSecond: transactions / seconds,
    runsPerSecond: runs / seconds,
    conflictShare: conflicts / Math.max(1, conflicts + gained(({ commits }) => commits)),
    requests,
    wrong: wrong.slice(0, 10),
  };
}

function describe(figure: Figure, first: Figure): string {
  const { processes, transactionsPerSecond, runsPerSecond, conflictShare, requests, wrong } = figure;
  const factor = transactionsPerSecond / first.transactionsPerSecond;
  const asked = Object.entries(requests).filter(([, count]) => count > 0);
  return [
    `${processes} process${processes === 1 ? "" : "es"}: ${Math.round(transactionsPerSecond)} transactions/s, ` +
      `${factor.toFixed(2)} of one; ${Math.round(runsPerSecond)} of them runs of observers; ${(conflictShare * 100).toFixed(1)} % of commits in conflict`,
    ...(asked.length === 0
      ? []
      : [
          `  requests a transaction: ${asked.map(([kind, count]) => `${kind} ${count.toFixed(2)}`).join(", ")}`,
        ]),
    ...wrong.map((line) => `  WRONG: ${line}`),
  ].join("\n");
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
