import { AbortedError, type Database, int, type Snapshot, table } from "percolatordb";
import { inFlight, WrongResultError } from "../harness/compare.js";
import { rowOf } from "../harness/data.js";
import { pause } from "../harness/pause.js";
import { summarize } from "../harness/statistics.js";
import { type Bench, type BenchCase, type CaseFigure, figureOf } from "./bench.js";

const full = { points: 10_000, ranges: 1_000, seconds: 20, commits: 40_000 };
const quick = { points: 1_000, ranges: 100, seconds: 4, commits: 10_000 };
const rowsOfRange = 10;
const perSecond = 1_000;
const width = 1_000;
/** The most milliseconds from a commit to a delivery, at the median. */
const maxMs = 15;
const leastShare = 0.8;
/** Each commit changes a row of one query and one range. A value may stand for two commits that are close. */
const leastDeliveries = 1.9;

export const numbers = table("numbers", { value: int() });

/** When the commit with each number was called and answered. */
export class Commits {
  readonly called: number[] = [];
  readonly answered: number[] = [];
  #next = 0;

  async commit(db: Database, row: string): Promise<void> {
    const number = this.#next++;
    this.called[number] = performance.now();
    await db.transact((tx) => tx.set(numbers.value, row, number));
    this.answered[number] = performance.now();
  }
}

/** Live queries, and when each of them was told what. */
export class Queries {
  readonly delays: number[] = [];
  readonly #ended: Promise<unknown>[] = [];
  readonly #commits: Commits;
  readonly #stop = new AbortController();
  isMeasured = false;
  delivered = 0;
  /** The error of the first query that has failed. */
  failure: unknown;

  constructor(commits: Commits) {
    this.#commits = commits;
  }

  /** Follows a query, and resolves when it has its first value. */
  async open(db: Database, read: (snapshot: Snapshot) => Promise<number>): Promise<void> {
    const values = db.live(read, { signal: this.#stop.signal });
    await values.next();
    const follow = async () => {
      for await (const { value } of values) {
        this.delivered++;
        const at = this.#commits.called[value];
        if (this.isMeasured && at !== undefined) this.delays.push(performance.now() - at);
      }
    };
    const noteFailure = (error: unknown) => {
      if (!(error instanceof AbortedError)) this.failure ??= error;
    };
    this.#ended.push(follow().catch(noteFailure));
  }

  /** Ends all queries. Throws the error of the first that has failed. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#ended);
    if (this.failure !== undefined) throw this.failure;
  }
}

/**
 * Live queries of one row each and of ranges, in the process that commits. First with a fixed number
 * of commits a second, for the delay, and then with as many as possible, beside the rate without
 * live queries.
 */
export const live: BenchCase = {
  name: "live",
  about: `live queries of a row and of ranges, under ${perSecond} commits a second`,
  async run(bench) {
    return bench.withDatabases({ collectEveryMs: 0 }, async (db) => {
      const size = bench.options.quick ? quick : full;
      const commits = new Commits();
      await fill(db, size.points);
      const rate = async () => {
        const begun = performance.now();
        await inFlight(size.commits, width, (index) =>
          commits.commit(db, rowOf((index * 7_919) % size.points)),
        );
        return (size.commits * 1_000) / (performance.now() - begun);
      };
      bench.say("commits without live queries");
      const before = await rate();
      const queries = new Queries(commits);
      const emptyMb = await heapMb();
      const opening = await open(bench, db, queries, size);
      const memory = [await heapMb()];
      bench.say(`${perSecond} commits a second`);
      queries.isMeasured = true;
      const pacedMs = await paced(size.seconds * perSecond, (index) =>
        commits.commit(db, rowOf((index * 7_919) % size.points)),
      );
      await pause(500);
      queries.isMeasured = false;
      memory.push(await heapMb());
      bench.say("as many commits as possible, with live queries");
      const during = await rate();
      const { delivered } = queries;
      await queries.close();
      memory.push(await heapMb());
      const after = await rate();
      const least = size.seconds * perSecond * leastDeliveries;
      if (queries.delays.length < least) {
        throw new WrongResultError(
          `${queries.delays.length} values were delivered in the paced part, where at least ${least} were due: the others were lost, or merged by a busy machine.`,
        );
      }
      const share = during / ((before + after) / 2);
      const pacedRate = (size.seconds * perSecond * 1_000) / pacedMs;
      return {
        comparisons: [],
        figures: figures(queries.delays, size, {
          opening,
          emptyMb,
          memory,
          pacedRate,
          during,
          share,
          delivered,
        }),
      };
    });
  },
};

async function fill(db: Database, points: number): Promise<void> {
  for (let first = 0; first < points; first += 500) {
    await db.transact((tx) => {
      for (let index = first; index < Math.min(points, first + 500); index++)
        tx.set(numbers.value, rowOf(index), -1);
    });
  }
}

/** Opens all queries, and returns how long that took. */
async function open(bench: Bench, db: Database, queries: Queries, size: typeof full): Promise<number> {
  bench.say("opening live queries");
  const begun = performance.now();
  const opened: Promise<void>[] = [];
  for (let index = 0; index < size.points; index++) {
    const row = rowOf(index);
    opened.push(queries.open(db, async (snapshot) => (await snapshot.get(numbers.value, row)) ?? -1));
  }
  for (let index = 0; index < size.ranges; index++) {
    const start = rowOf(Math.floor((index * size.points) / size.ranges));
    opened.push(
      queries.open(db, async (snapshot) => {
        let newest = -1;
        for await (const { value } of snapshot.scan(numbers.value, { start, limit: rowsOfRange }))
          newest = Math.max(newest, value);
        return newest;
      }),
    );
  }
  await Promise.all(opened);
  return performance.now() - begun;
}

/** Calls `run` `count` times, at a fixed rate. Returns the milliseconds until the last one was done. */
async function paced(count: number, run: (index: number) => Promise<void>): Promise<number> {
  const begun = performance.now();
  const running: Promise<void>[] = [];
  for (let index = 0; index < count; ) {
    const due = Math.min(count, Math.floor(((performance.now() - begun) * perSecond) / 1_000));
    while (index < due) running.push(run(index++));
    await pause(1);
  }
  await Promise.all(running);
  return performance.now() - begun;
}

async function heapMb(): Promise<number> {
  await pause(100);
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1e6;
}

interface Found {
  readonly opening: number;
  /** The heap without queries. */
  readonly emptyMb: number;
  readonly memory: readonly number[];
  /** Commits a second in the paced part. */
  readonly pacedRate: number;
  readonly during: number;
  readonly share: number;
  readonly delivered: number;
}

function figures(delays: readonly number[], size: typeof full, found: Found): readonly CaseFigure[] {
  const sorted = [...delays].sort((a, b) => a - b);
  const quantile = (share: number) => sorted[Math.floor((sorted.length - 1) * share)]!;
  const [open = 0, paced = 0, closed = 0] = found.memory;
  return [
    {
      name: `opening ${size.points} queries of a row and ${size.ranges} of ranges`,
      value: found.opening,
      unit: "ms",
    },
    {
      ...figureOf("from the call of a commit to a delivery", "ms", delays, maxMs),
      spread: summarize(delays),
    },
    { name: "the same, 95 of 100", value: quantile(0.95), unit: "ms" },
    { name: "the same, 99 of 100", value: quantile(0.99), unit: "ms" },
    { name: "deliveries", value: found.delivered, unit: "" },
    {
      name: `commits, of ${perSecond} (at least ${leastShare * perSecond})`,
      value: found.pacedRate,
      unit: "/s",
    },
    { name: "commits with live queries, as many as possible", value: found.during, unit: "/s" },
    { name: "share of the rate without them", value: found.share, unit: "" },
    {
      name: "heap for each open query",
      value: ((open - found.emptyMb) * 1_000) / (size.points + size.ranges),
      unit: "KB",
    },
    { name: "heap, all queries open", value: open, unit: "MB" },
    { name: "heap, after the commits", value: paced, unit: "MB" },
    { name: "heap, all queries closed", value: closed, unit: "MB" },
  ];
}
