import { ratios, type Summary, summarize } from "./statistics.js";
import { cpuSeconds, cpuSecondsOf } from "./usage.js";

/** One implementation of the measured work. */
export interface Side {
  /**
   * Does the round's work. Returns a checksum of what it read or wrote, such as lengths, counts or
   * sums. Both sides of a comparison must return the same.
   */
  run(round: number): number | Promise<number>;
  /** Prepares the round, outside of the measured time. */
  prepare?(round: number): void | Promise<void>;
  /**
   * Checks the round's work, outside of the measured time. Throws a `WrongResultError` if it is
   * wrong.
   */
  verify?(round: number): void | Promise<void>;
}

export interface ComparisonSpec {
  readonly name: string;
  /** The unit: "reads", "entries", "transactions". */
  readonly unit: string;
  /** How many units one round does. */
  readonly operations: number;
  /** The lowest acceptable ratio. Undefined if there is none. */
  readonly floor?: number | undefined;
  readonly note?: string | undefined;
  /** The processes that work for both sides, besides this one. Their processor time counts too. */
  readonly servers?: readonly number[] | undefined;
  readonly raw: Side;
  readonly ours: Side;
}

/** Both sides' rates in units a second, and their ratio in each round. */
export interface Comparison {
  readonly name: string;
  readonly unit: string;
  readonly operations: number;
  readonly floor: number | undefined;
  readonly note: string | undefined;
  readonly raw: Summary;
  readonly ours: Summary;
  readonly ratio: Summary;
  /**
   * The ratio by processor time of all threads and servers. Other programs on the machine disturb it
   * less.
   */
  readonly processorRatio: Summary;
  /**
   * Our processor time of all threads for one unit, in microseconds. Older results do not have it.
   */
  readonly ourCpuUs?: Summary | undefined;
  readonly samples: { readonly raw: readonly number[]; readonly ours: readonly number[] };
}

/**
 * A measurement gave a wrong result: the sides disagree, or a value is not the one that was
 * written.
 */
export class WrongResultError extends Error {
  override readonly name = "WrongResultError";
}

/**
 * Throws a `WrongResultError` unless a row has the expected value. Undefined means that the row is
 * absent.
 */
export function expectValue(row: string, found: string | undefined, expected: string | undefined): void {
  if (found === expected) return;
  const show = (value: string | undefined) => (value === undefined ? "nothing" : JSON.stringify(value));
  throw new WrongResultError(`Row ${row} holds ${show(found)}, but must hold ${show(expected)}.`);
}

/** The least and the most warm-up rounds, which do not count. */
const warmUpRounds = { least: 2, most: 50 } as const;

/**
 * Measures both sides in each round, in alternating order, so that a slow phase of the machine
 * affects both. Throws a `WrongResultError` if they disagree. Rounds count only after both sides
 * together have run for `warmUpMs`, because earlier rounds compile code and fill caches.
 */
export async function compare(spec: ComparisonSpec, rounds: number, warmUpMs = 0): Promise<Comparison> {
  const raw: Sample[] = [];
  const ours: Sample[] = [];
  let warmedMs = 0;
  for (let round = 0; ours.length < rounds; round++) {
    const rawFirst = round % 2 === 0;
    const first = await sample(rawFirst ? spec.raw : spec.ours, round, spec.servers);
    const second = await sample(rawFirst ? spec.ours : spec.raw, round, spec.servers);
    // NaN means that a value to read was missing.
    if (first.check !== second.check || Number.isNaN(first.check)) {
      throw new WrongResultError(
        `${spec.name}: ${rawFirst ? "the raw store" : "percolatordb"} came to ${first.check}, the other to ${second.check}.`,
      );
    }
    const isWarm = round >= warmUpRounds.most || (round >= warmUpRounds.least && warmedMs >= warmUpMs);
    warmedMs += first.ms + second.ms;
    if (!isWarm) continue;
    (rawFirst ? raw : ours).push(first);
    (rawFirst ? ours : raw).push(second);
  }
  return conclude(spec, raw, ours);
}

function conclude(spec: ComparisonSpec, raw: readonly Sample[], ours: readonly Sample[]): Comparison {
  const { name, unit, operations, floor, note } = spec;
  const rate = ({ ms }: Sample) => (operations / ms) * 1_000;
  const rawRates = raw.map(rate);
  const ourRates = ours.map(rate);
  const processorTimes = ratios(
    raw.map(({ cpuMs }) => cpuMs),
    ours.map(({ cpuMs }) => cpuMs),
  );
  return {
    name,
    unit,
    operations,
    floor,
    note,
    raw: summarize(rawRates),
    ours: summarize(ourRates),
    ratio: summarize(ratios(ourRates, rawRates)),
    processorRatio: summarize(processorTimes),
    ourCpuUs: summarize(ours.map(({ cpuMs }) => (1_000 * cpuMs) / operations)),
    samples: { raw: rawRates, ours: ourRates },
  };
}

interface Sample {
  readonly ms: number;
  /** Processor time of all threads and servers. */
  readonly cpuMs: number;
  readonly check: number;
}

async function sample(side: Side, round: number, servers: readonly number[] = []): Promise<Sample> {
  await side.prepare?.(round);
  globalThis.gc?.();
  await nextTurn();
  const [cpu, serverCpu] = [process.cpuUsage(), cpuSecondsOf(servers)];
  const started = performance.now();
  const check = await side.run(round);
  const ms = performance.now() - started;
  const cpuMs = (cpuSeconds(cpu) + cpuSecondsOf(servers) - serverCpu) * 1_000;
  // LMDB shows a new commit to reads of the next turn of the event loop.
  await nextTurn();
  await side.verify?.(round);
  return { ms, cpuMs, check };
}

/** Lets the event loop run once, so that waiting callbacks run and LMDB takes a new snapshot. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/**
 * Returns a check for data that does not change during the measurement. It runs once, after the
 * first round.
 */
export function onceVerified(verify: () => Promise<void>): (round: number) => Promise<void> {
  return async (round) => {
    if (round === 0) await verify();
  };
}

/** Runs `count` tasks, `width` of them at a time. */
export async function inFlight(
  count: number,
  width: number,
  task: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await task(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
}
