import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import type { Database } from "percolatordb";

/** The resources that this process used during a measurement. */
export interface Use {
  readonly seconds: number;
  /** Processor time of all threads. */
  readonly cpuSeconds: number;
  /** The share of the time in which the event loop was not waiting for events. */
  readonly loopShare: number;
  /**
   * The shares of the time in which it waited for LMDB's write lock, and in which it flushed.
   * Undefined on other stores.
   */
  readonly lockWaitShare?: number | undefined;
  readonly flushShare?: number | undefined;
}

/**
 * Returns the processor seconds of all threads of this process, in total or since an earlier
 * reading.
 */
export function cpuSeconds(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
}

/** Starts to measure what this process uses. The returned function ends the measurement. */
export async function measureUse(db: Pick<Database, "status">): Promise<() => Promise<Use>> {
  const before = (await db.status()).statistics;
  const [cpu, loop, began] = [process.cpuUsage(), performance.eventLoopUtilization(), performance.now()];
  return async () => {
    const seconds = (performance.now() - began) / 1_000;
    const [used, { utilization }] = [cpuSeconds(cpu), performance.eventLoopUtilization(loop)];
    const after = (await db.status()).statistics;
    const share = (name: string) =>
      after[name] === undefined ? undefined : (after[name] - (before[name] ?? 0)) / (seconds * 1_000);
    return {
      seconds,
      cpuSeconds: used,
      loopShare: utilization,
      lockWaitShare: share("writeLockWaitMs"),
      flushShare: share("flushMs"),
    };
  };
}

const ticksPerSecond = 100;
const sampleMs = 500;

/**
 * Returns the processor seconds so far of these processes and their children on Linux. 0 if there are
 * none, and on other systems.
 */
export function cpuSecondsOf(roots: readonly number[]): number {
  return (ticksOfAll(roots) ?? 0) / ticksPerSecond;
}

/**
 * Measures the memory peak and the processor time of other processes on Linux. Undefined on other
 * systems.
 */
export class ProcessWatch {
  readonly #roots: readonly number[];
  readonly #timer: NodeJS.Timeout;
  readonly #before: number | undefined;
  #highest: number | undefined;

  /** Watches these processes and their children. */
  constructor(roots: readonly number[]) {
    this.#roots = roots;
    this.#before = ticksOfAll(roots);
    this.#timer = setInterval(() => this.#look(), sampleMs);
  }

  end(): { readonly memoryMiB: number | undefined; readonly cpuSeconds: number | undefined } {
    clearInterval(this.#timer);
    this.#look();
    const after = ticksOfAll(this.#roots);
    return {
      memoryMiB: this.#highest === undefined ? undefined : Math.round(this.#highest / 1_024),
      cpuSeconds:
        after === undefined || this.#before === undefined
          ? undefined
          : (after - this.#before) / ticksPerSecond,
    };
  }

  #look(): void {
    const sizes = withChildrenOf(this.#roots).map(sharedSize);
    const all = sum(sizes);
    if (all !== undefined) this.#highest = Math.max(all, this.#highest ?? 0);
  }
}

const ticksOfAll = (roots: readonly number[]) => sum(withChildrenOf(roots).map(ticksOf));

const withChildrenOf = (roots: readonly number[]) => roots.flatMap((root) => [root, ...childrenOf(root)]);

const sum = (all: readonly (number | undefined)[]) => {
  const known = all.filter((each) => each !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, each) => total + each, 0);
};

function childrenOf(pid: number): number[] {
  return (read(`/proc/${pid}/task/${pid}/children`) ?? "").split(" ").filter(Boolean).map(Number);
}

/** In KiB. Memory that several processes share counts for each of them in part. */
function sharedSize(pid: number): number | undefined {
  const found = /^Pss:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? "");
  return found === null ? undefined : Number(found[1]);
}

/** Returns the processor ticks of the process and of its ended children. */
function ticksOf(pid: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // The fields after the name, which may contain anything: utime, stime, cutime and cstime are the
  // 12th to the 15th.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields?.slice(11, 15).reduce((total, each) => total + Number(each), 0);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}
