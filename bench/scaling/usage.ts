import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import type { Database } from "percolatordb";

/** What this process has used since it began. */
export interface Usage {
  readonly atMs: number;
  readonly userSeconds: number;
  readonly systemSeconds: number;
  /** The main thread's time on a CPU, and waiting for one; undefined where the system does not tell. */
  readonly main: MainThread | undefined;
  readonly loopActiveMs: number;
  readonly commits: number;
  /** What the store says of itself. */
  readonly store: Readonly<Record<string, number>>;
}

export interface MainThread {
  readonly cpuSeconds: number;
  /** Ready to run, while all CPUs had something else to do. */
  readonly waitedSeconds: number;
}

/** What one process used between two moments. */
export interface ProcessUse {
  readonly seconds: number;
  readonly userSeconds: number;
  readonly systemSeconds: number;
  /** The main thread's time on a CPU, and waiting for one; undefined where the system does not tell. */
  readonly main?: MainThread | undefined;
  /** Share of the time in which the event loop was not waiting for events. */
  readonly loopUtilisation: number;
  /** Of the embedded store; undefined for others. */
  readonly writing?: WritingUse | undefined;
}

/** How one process wrote to LMDB, in which one process writes at a time. */
export interface WritingUse {
  /** LMDB's transactions. */
  readonly transactions: number;
  /** The database's commits that shared one of them. */
  readonly commitsPerTransaction: number;
  readonly pagesPerTransaction: number;
  /** Share of the time in which it waited for LMDB's write lock. */
  readonly lockWaitShare: number;
  /** Share of the time in which it had a write transaction open. */
  readonly openShare: number;
  /** Part of that in which the write thread waited for the main thread, which fills the transaction. */
  readonly fillShare: number;
  /** Part of that in which pages were written to the file. */
  readonly pageWriteShare: number;
  /** Share of the time in which it flushed. */
  readonly flushShare: number;
}

export async function readUsage(db: Database): Promise<Usage> {
  const { user, system } = process.cpuUsage();
  return {
    atMs: performance.now(),
    userSeconds: user / 1e6,
    systemSeconds: system / 1e6,
    main: mainThread(),
    loopActiveMs: performance.eventLoopUtilization().active,
    commits: db.metrics.commits,
    store: (await db.status()).statistics,
  };
}

export function usedBetween(before: Usage, after: Usage): ProcessUse {
  const ms = after.atMs - before.atMs;
  return {
    seconds: ms / 1_000,
    userSeconds: after.userSeconds - before.userSeconds,
    systemSeconds: after.systemSeconds - before.systemSeconds,
    main: mainBetween(before.main, after.main),
    loopUtilisation: (after.loopActiveMs - before.loopActiveMs) / ms,
    writing: writingBetween(before, after, ms),
  };
}

function writingBetween(before: Usage, after: Usage, ms: number): WritingUse | undefined {
  if (after.store.writeTransactions === undefined) return undefined;
  const gained = (name: string) => (after.store[name] ?? 0) - (before.store[name] ?? 0);
  const transactions = gained("writeTransactions");
  const each = (count: number) => (transactions === 0 ? 0 : count / transactions);
  return {
    transactions,
    commitsPerTransaction: each(after.commits - before.commits),
    pagesPerTransaction: each(gained("pagesWritten")),
    lockWaitShare: gained("writeLockWaitMs") / ms,
    openShare: gained("writeTransactionMs") / ms,
    fillShare: gained("writeFillMs") / ms,
    pageWriteShare: gained("pageWriteMs") / ms,
    flushShare: gained("flushMs") / ms,
  };
}

function mainBetween(before: MainThread | undefined, after: MainThread | undefined): MainThread | undefined {
  if (before === undefined || after === undefined) return undefined;
  return {
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    waitedSeconds: after.waitedSeconds - before.waitedSeconds,
  };
}

/** By Linux's scheduler, in nanoseconds. */
function mainThread(): MainThread | undefined {
  try {
    const counted = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1");
    const [cpu, waited] = counted.split(" ").map((nanoseconds) => Number(nanoseconds) / 1e9);
    return { cpuSeconds: cpu!, waitedSeconds: waited! };
  } catch {
    return undefined;
  }
}

/** One process's use in words. */
export function describeUse(use: ProcessUse): string {
  const { seconds, userSeconds, systemSeconds, main, loopUtilisation, writing } = use;
  const thread =
    main === undefined
      ? ""
      : `; main thread on a CPU ${percent(main.cpuSeconds / seconds)}, waiting for one ${percent(main.waitedSeconds / seconds)}`;
  const cpu = `CPU user ${userSeconds.toFixed(1)} s, system ${systemSeconds.toFixed(1)}; event loop busy ${percent(loopUtilisation)}${thread}`;
  if (writing === undefined) return cpu;
  const { commitsPerTransaction, pagesPerTransaction, lockWaitShare, openShare, fillShare } = writing;
  return (
    `${cpu}; LMDB: ${writing.transactions} transactions of ${commitsPerTransaction.toFixed(1)} commits and ` +
    `${pagesPerTransaction.toFixed(0)} pages, waiting for the write lock ${percent(lockWaitShare)}, open ${percent(openShare)} ` +
    `(filled ${percent(fillShare)}, pages written ${percent(writing.pageWriteShare)}), flushing ${percent(writing.flushShare)}`
  );
}

/** In words how much of the machine others took; nothing where that is not known. */
export function describeOthers(share: number | undefined): string {
  return share === undefined ? "" : `; others took ${percent(share)} of the machine`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
