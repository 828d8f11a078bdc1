import { quantile } from "../harness/statistics.js";
import { ratio, short } from "../harness/words.js";

/** One bulk update, with and without triggers, in milliseconds. */
export interface BulkRound {
  readonly plainMs: number;
  readonly attachedMs: number;
}

/** Delays of SQL writes in milliseconds. Of several turns, `p50` and `p99` are the medians of the turns. */
export interface Delays {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

export interface AttachedResult {
  readonly bulk: readonly BulkRound[];
  /** Writes before the table is attached. */
  readonly before: Delays;
  /** While its rows are copied: turns in which a worker works, and turns in which none does. */
  readonly copying: Delays;
  readonly copyingIdle: Delays;
  /** The same after the copy, when the worker only moves changes and runs observers. */
  readonly steady: Delays;
  readonly steadyIdle: Delays;
  readonly copyMs: number;
  /** Milliseconds until nothing was left to do, after the last write. */
  readonly drainMs: number;
  /** Rows of the derived tables that differ from the recomputation in SQL. */
  readonly wrong: number;
}

/**
 * The figures of delays, by turn. What else the machine does may take most of one turn, so a median
 * of turns says more than all delays together.
 */
export function delaysOf(turns: readonly (readonly number[])[]): Delays {
  const sorted = turns.map((delays) => [...delays].sort((a, b) => a - b));
  return {
    count: turns.reduce((sum, { length }) => sum + length, 0),
    p50: median(sorted.map((delays) => quantile(delays, 0.5))),
    p99: median(sorted.map((delays) => quantile(delays, 0.99))),
  };
}

/** The writers' p99 grows at most by this factor. */
export const maxGrowth = 1.2;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

export function describeAttached(result: AttachedResult): readonly string[] {
  const { bulk, before, copying, copyingIdle, steady, steadyIdle, copyMs, drainMs, wrong } = result;
  const cost = median(bulk.map(({ plainMs, attachedMs }) => attachedMs / plainMs));
  const delays = ({ count, p50, p99 }: Delays) => `${count} | ${short(p50)} | ${short(p99)} |`;
  const growth = (doing: string, working: Delays, idle: Delays) => {
    const times = working.p99 / idle.p99;
    const isMet = times <= maxGrowth ? "met" : "missed";
    return (
      `While a worker ${doing}, the writers' p99 is ${ratio(times)} times as long as in the turns without it, ` +
      `and the p50 ${ratio(working.p50 / idle.p50)} times; the floor of ${maxGrowth} is ${isMet}.`
    );
  };
  return [
    "| bulk update, ms | without triggers | with |\n| --- | ---: | ---: |\n" +
      bulk
        .map(({ plainMs, attachedMs }, i) => `| ${i + 1} | ${short(plainMs)} | ${short(attachedMs)} |`)
        .join("\n"),
    `A bulk update takes ${ratio(cost)} times as long with triggers (median).`,
    "| SQL writes, medians of turns | count | p50, ms | p99, ms |\n| --- | ---: | ---: | ---: |\n" +
      `| without triggers | ${delays(before)}\n` +
      `| copying | ${delays(copying)}\n| no worker, in turns | ${delays(copyingIdle)}\n` +
      `| copied | ${delays(steady)}\n| no worker, in turns | ${delays(steadyIdle)}`,
    growth("copies", copying, copyingIdle),
    growth("follows", steady, steadyIdle),
    `The copy took ${short(copyMs / 1_000)} s of a worker's turns; ${short(drainMs / 1_000)} s after the last write nothing was left to do.`,
    `Derived rows that differ from the recomputation in SQL: ${wrong}.`,
  ];
}
