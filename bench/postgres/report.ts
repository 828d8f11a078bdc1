import { quantile, summarize } from "../statistics.js";

export interface Spread {
  readonly median: number;
  /** A quarter of the rounds lie below, a quarter above. */
  readonly low: number;
  readonly high: number;
}

/** Documents indexed to the end, once. */
export interface FullRun {
  readonly pages: number;
  readonly seconds: number;
  /** Of all its processes, the server included; undefined where the system does not tell. */
  readonly cpuSeconds: number | undefined;
  /** Of them, what the database server took. */
  readonly serverCpuSeconds: number | undefined;
  readonly memoryMiB: number | undefined;
  readonly wrong: number;
  readonly problems: readonly string[];
}

/** Pages that came at a steady pace. */
export interface PacedRun {
  readonly perSecond: number;
  /** Ascending, from when a page was due until the commit of the run by which it can be found. */
  readonly delays: readonly number[];
  /** Duplicates: they are not found themselves. */
  readonly unfound: number;
  /** A raw flush, timed meanwhile. */
  readonly flushMs: number;
  readonly wrong: number;
  readonly problems: readonly string[];
}

/** What came of killing processes in mid-run, and starting them again at once. */
export interface KillRun {
  /** Of PostgreSQL's side all but the server: loader and workers. */
  readonly killed: "one worker" | "all processes";
  /** From the kill until nothing was left to do, or nobody did what was left. */
  readonly seconds: number;
  /** Jobs that nobody works on so many seconds after the kill. */
  readonly stuckJobs: number;
  readonly afterSeconds: number;
  /** Cells that differed from the twin's then. */
  readonly wrong: number;
  /** When the jobs of the dead had been unlocked by hand; undefined where there was no such job. */
  readonly unlocked: { readonly seconds: number; readonly wrong: number } | undefined;
  readonly problems: readonly string[];
}

export interface Delays {
  readonly p5: number;
  readonly p50: number;
  readonly p95: number;
}

/** Delays while pages come at a steady pace: medians over the runs. */
export interface DelayReport {
  readonly perSecond: number;
  readonly delayMs: Delays;
  readonly flushMs: number;
  /** The median delay of each run, without the flushes that follow one another on the way. */
  readonly beyondFlushesMs: Spread;
}

/** The delays are those at half of its own full speed. */
export interface SideReport extends DelayReport {
  readonly pagesPerSecond: Spread;
  readonly cpuSeconds: number | undefined;
  readonly serverCpuSeconds: number | undefined;
  readonly memoryMiB: number | undefined;
  /** Delays at a tenth of its full speed: pages that come one by one cost more than as many at once. */
  readonly light: DelayReport;
  readonly afterKill: readonly KillRun[];
  /** Cells that differed from the twin's where nothing was left to do. */
  readonly wrong: number;
  readonly problems: readonly string[];
}

export interface Configuration {
  readonly date: string;
  readonly node: string;
  readonly postgres: string;
  readonly graphileWorker: string;
  readonly system: string;
  readonly cpu: string;
  readonly cpus: number;
  readonly memoryGiB: number;
  readonly sources: readonly string[];
  readonly rounds: number;
  /** Of percolatordb's side at full speed. */
  readonly processes: number;
  readonly workers: number;
  readonly concurrency: number;
  /** Changes that a job takes at a time, by task. */
  readonly batches: Readonly<Record<string, number>>;
  readonly settings: readonly string[];
}

/** What `npm run peer` writes. */
export interface PeerReport {
  readonly configuration: Configuration;
  readonly pages: number;
  readonly percolator: SideReport;
  readonly postgres: SideReport;
  readonly rebuild: {
    readonly seconds: number;
    readonly pagesPerSecond: number;
    readonly memoryMiB: number | undefined;
  };
  /** Pages a second of percolatordb beside PostgreSQL's, round by round; 5 is wanted. */
  readonly ratio: Spread;
  /** The same by the processor time of all processes, which others on the machine disturb less. */
  readonly processorRatio: Spread | undefined;
  readonly floor: number;
  /** Milliseconds beyond the flushes that the median delay of percolatordb may have. */
  readonly ceilingMs: number;
}

export const floor = 5;
export const ceilingMs = 10;
/** Load, extract, cluster with index: one waits for the other. */
export const flushesInSequence = 3;

export interface Measured {
  readonly full: readonly FullRun[];
  /** At least one. */
  readonly paced: readonly PacedRun[];
  readonly light: PacedRun;
  readonly kills: readonly KillRun[];
}

export function rateOf({ pages, seconds }: Pick<FullRun, "pages" | "seconds">): number {
  return pages / seconds;
}

export function concludeSide({ full, paced, light, kills }: Measured): SideReport {
  const median = (of: (run: FullRun) => number | undefined) => medianOf(full.map(of));
  return {
    pagesPerSecond: spreadOf(full.map(rateOf)),
    cpuSeconds: median(({ cpuSeconds }) => cpuSeconds),
    serverCpuSeconds: median(({ serverCpuSeconds }) => serverCpuSeconds),
    memoryMiB: median(({ memoryMiB }) => memoryMiB),
    ...concludePaced(paced),
    light: concludePaced([light]),
    afterKill: kills,
    wrong:
      full.reduce((all, { wrong }) => all + wrong, 0) +
      paced.reduce((all, { wrong }) => all + wrong, 0) +
      light.wrong +
      kills.reduce((all, { wrong, unlocked }) => all + (unlocked?.wrong ?? wrong), 0),
    problems: [...full, ...paced, light, ...kills].flatMap(({ problems }) => problems),
  };
}

function concludePaced(runs: readonly PacedRun[]): DelayReport {
  const median = (of: (run: PacedRun) => number) => summarize(runs.map(of)).median;
  const delay = (part: number) => median(({ delays }) => quantile(delays, part));
  return {
    perSecond: runs[0]!.perSecond,
    delayMs: { p5: delay(0.05), p50: delay(0.5), p95: delay(0.95) },
    flushMs: median(({ flushMs }) => flushMs),
    beyondFlushesMs: spreadOf(
      runs.map(({ delays, flushMs }) => quantile(delays, 0.5) - flushesInSequence * flushMs),
    ),
  };
}

/** How many times the processor time of these runs those of the other side took, round by round. */
export function processorRatioOf(ours: readonly FullRun[], theirs: readonly FullRun[]): Spread | undefined {
  const all = theirs.map(
    ({ cpuSeconds }, round) => (cpuSeconds ?? Number.NaN) / (ours[round]!.cpuSeconds ?? 0),
  );
  return all.every(Number.isFinite) ? spreadOf(all) : undefined;
}

export function spreadOf(values: readonly number[]): Spread {
  const { median, low, high } = summarize(values);
  return { median, low, high };
}

function medianOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((each) => each !== undefined);
  return known.length === 0 ? undefined : summarize(known).median;
}
