import { barChart } from "../figures/chart.js";
import type { Figure, Plot } from "../figures/figure.js";
import { quantile, summarize } from "../harness/statistics.js";
import {
  duration,
  range,
  ratio,
  right,
  type Spread,
  short,
  table,
  verdict,
  whole,
} from "../harness/words.js";

/** One run that indexes all documents completely. */
export interface FullRun {
  readonly pages: number;
  readonly seconds: number;
  /**
   * The processor time of all its processes, including the server. Undefined if the system does not
   * report it.
   */
  readonly cpuSeconds: number | undefined;
  /** The part of `cpuSeconds` that the database server used. */
  readonly serverCpuSeconds: number | undefined;
  readonly memoryMiB: number | undefined;
  readonly wrong: number;
  readonly problems: readonly string[];
}

/** A run with pages that arrive at a steady pace. */
export interface PacedRun {
  readonly perSecond: number;
  /** Milliseconds from the time a page was due to the commit that made it findable, ascending. */
  readonly delays: readonly number[];
  /** The number of duplicates. A search finds only their canonical pages. */
  readonly unfound: number;
  /** The median duration of a raw flush during the run. */
  readonly flushMs: number;
  readonly wrong: number;
  readonly problems: readonly string[];
}

/** The result of killing processes in mid-run and restarting them at once. */
export interface KillRun {
  /**
   * What was killed. `"all processes"` are the loader and the workers, but not a server.
   */
  readonly killed: "one worker" | "all processes";
  /** The time from the kill until no jobs were left except those locked by dead workers. */
  readonly seconds: number;
  /** Jobs locked by dead workers, `afterSeconds` after the kill. */
  readonly stuckJobs: number;
  readonly afterSeconds: number;
  /** Cells that differed from the twin's `afterSeconds` after the kill. */
  readonly wrong: number;
  /**
   * How long the jobs of dead workers took after they were unlocked by hand, and how many cells
   * were wrong afterwards. Undefined if dead workers had locked no jobs.
   */
  readonly unlocked: { readonly seconds: number; readonly wrong: number } | undefined;
  readonly problems: readonly string[];
}

export interface Delays {
  readonly p5: number;
  readonly p50: number;
  readonly p95: number;
}

/** Delays of pages that arrive at a steady pace: medians over the runs. */
export interface DelayReport {
  readonly perSecond: number;
  readonly delayMs: Delays;
  readonly flushMs: number;
  /** The median delay of each run, minus the flushes on its path. */
  readonly beyondFlushesMs: Spread;
}

/** The results of one side. Its delays are measured at half of its own full speed. */
export interface SideResult extends DelayReport {
  readonly pagesPerSecond: Spread;
  readonly cpuSeconds: number | undefined;
  readonly serverCpuSeconds: number | undefined;
  readonly memoryMiB: number | undefined;
  /** Delays at a tenth of its full speed. */
  readonly light: DelayReport;
  readonly afterKill: readonly KillRun[];
  /** Cells that differed from the twin's when nothing was left to do. */
  readonly wrong: number;
  readonly problems: readonly string[];
}

/** The output of `npm run peer`. */
export interface PeerResult {
  readonly configuration: {
    readonly postgres: string;
    readonly graphileWorker: string;
    /** Web archives or folders, by name only. */
    readonly sources: readonly string[];
    readonly rounds: number;
    /** The most changes in one job, by task. */
    readonly batches: Readonly<Record<string, number>>;
    /** The server's settings. */
    readonly settings: readonly string[];
  };
  readonly pages: number;
  readonly percolator: SideResult;
  /** percolatordb on a server with the same settings. */
  readonly onServer: SideResult;
  /** PostgreSQL with graphile-worker. */
  readonly postgres: SideResult;
  readonly rebuild: {
    readonly seconds: number;
    readonly pagesPerSecond: number;
    readonly memoryMiB: number | undefined;
  };
  /** Pages a second of percolatordb divided by PostgreSQL's, in each round. */
  readonly ratio: Spread;
  /** The same of percolatordb on PostgreSQL. */
  readonly onServerRatio: Spread;
  /**
   * `ratio` by the processor time of all processes. Other programs on the machine disturb it
   * less.
   */
  readonly processorRatio: Spread | undefined;
}

/** The wanted speed relative to PostgreSQL, if its jobs take batches and if each change is a job. */
const floors = { batches: 2, each: 8 };
/** The wanted speed on the same server, relative to jobs that take batches. */
const serverFloor = 1.5;
/** The largest allowed delays of percolatordb beyond the flushes, in milliseconds. */
const ceilingMs = { p50: 5, p95: 50 };
/** The most processor time of percolatordb for a page, in milliseconds. */
const pageCpuMs = 4;
/** The successive commits for a page: load, extract, and cluster with index. */
const flushesInSequence = 3;

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

export function concludeSide({ full, paced, light, kills }: Measured): SideResult {
  const median = (of: (run: FullRun) => number | undefined) => medianOf(full.map(of));
  return {
    pagesPerSecond: summarize(full.map(rateOf)),
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
    beyondFlushesMs: summarize(
      runs.map(({ delays, flushMs }) => quantile(delays, 0.5) - flushesInSequence * flushMs),
    ),
  };
}

/**
 * Returns the processor time of the other side's runs divided by that of these runs, in each round.
 */
export function processorRatioOf(ours: readonly FullRun[], theirs: readonly FullRun[]): Spread | undefined {
  const all = theirs.map(
    ({ cpuSeconds }, round) => (cpuSeconds ?? Number.NaN) / (ours[round]!.cpuSeconds ?? 0),
  );
  return all.every(Number.isFinite) ? summarize(all) : undefined;
}

function medianOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((each) => each !== undefined);
  return known.length === 0 ? undefined : summarize(known).median;
}

export const peer: Figure = {
  name: "peer",
  about:
    "the web index in a folder and on PostgreSQL, compared with graphile-worker, and with building it again",
  measurements: [
    {
      name: "postgres",
      script: "peer",
      archives: "all",
      args: { small: ["--quick", "--pages", "200"], full: [] },
      minutes: { small: 12, full: 120 },
    },
    {
      name: "each",
      script: "peer",
      archives: "all",
      args: { small: ["--quick", "--pages", "200", "--batch", "1"], full: ["--batch", "1"] },
      minutes: { small: 14, full: 150 },
    },
  ],
  draw(results) {
    const found = results.get<PeerResult>("postgres");
    if (found === undefined) return { tables: [], plots: [] };
    const each = results.get<PeerResult>("each");
    const heading = "With one job for each change, as percolatordb runs observers:";
    const [versions, ...tables] = describePeer(found);
    return {
      tables: [
        versions!,
        ...tables,
        ...(each === undefined ? [] : [heading, ...describePeer(each).slice(1)]),
      ],
      plots: [ratePlot(found), delayPlot(found)],
    };
  },
};

export function describePeer(found: PeerResult): readonly string[] {
  const { postgres, graphileWorker } = found.configuration;
  return [
    `${whole(found.pages)} pages; PostgreSQL ${postgres}, graphile-worker ${graphileWorker}.`,
    sideTable(found),
    verdictTable(found),
    killTable(found),
  ];
}

const named = ({
  percolator,
  onServer,
  postgres,
}: PeerResult): readonly (readonly [string, SideResult])[] => [
  ["percolatordb", percolator],
  ["percolatordb on PostgreSQL", onServer],
  ["PostgreSQL", postgres],
];

function sideTable(found: PeerResult): string {
  const rows = named(found).map(([name, side]) => [
    name,
    short(side.pagesPerSecond.median),
    range(side.pagesPerSecond, short),
    side.cpuSeconds === undefined ? "" : short(side.cpuSeconds),
    side.memoryMiB === undefined ? "" : whole(side.memoryMiB),
    short(side.perSecond),
    [side.delayMs.p5, side.delayMs.p50, side.delayMs.p95].map(duration).join(", "),
    duration(side.beyondFlushesMs.median),
    whole(side.wrong),
  ]);
  const { seconds, pagesPerSecond } = found.rebuild;
  rows.push([
    "rebuild in memory, no database",
    short(pagesPerSecond),
    `${short(seconds)} s in all`,
    "",
    "",
    "",
    "",
    "",
    "",
  ]);
  const columns = [
    "",
    right("pages/s"),
    "quartiles",
    right("CPU seconds"),
    right("MiB"),
    right("load for the delays, pages/s"),
  ];
  return table(
    [...columns, right("delay p5, p50, p95"), right("p50 minus three flushes"), right("wrong cells")],
    rows,
  );
}

function verdictTable({
  ratio: of,
  onServerRatio,
  processorRatio,
  percolator,
  pages,
  configuration,
}: PeerResult): string {
  const { delayMs, flushMs, cpuSeconds } = percolator;
  const isEach = Object.values(configuration.batches).every((most) => most === 1);
  const floor = isEach ? floors.each : floors.batches;
  const p95 = delayMs.p95 - flushesInSequence * flushMs;
  const rows: string[][] = [
    [
      "pages/s, percolatordb divided by PostgreSQL",
      ratio(of.median),
      range(of, ratio),
      verdict(of.median >= floor, `at least ${floor}`),
    ],
    [
      "pages/s, percolatordb on PostgreSQL divided by PostgreSQL",
      ratio(onServerRatio.median),
      range(onServerRatio, ratio),
      isEach ? "" : verdict(onServerRatio.median >= serverFloor, `at least ${serverFloor}`),
    ],
    [
      "median delay of percolatordb minus three flushes",
      duration(percolator.beyondFlushesMs.median),
      range(percolator.beyondFlushesMs, duration),
      verdict(percolator.beyondFlushesMs.median <= ceilingMs.p50, `at most ${ceilingMs.p50} ms`),
    ],
    [
      "p95 of this delay, minus three flushes",
      duration(p95),
      "",
      verdict(p95 <= ceilingMs.p95, `at most ${ceilingMs.p95} ms`),
    ],
  ];
  if (processorRatio !== undefined) {
    rows.push([
      "CPU time, PostgreSQL divided by percolatordb",
      ratio(processorRatio.median),
      range(processorRatio, ratio),
      verdict(processorRatio.median > 1, "above 1"),
    ]);
  }
  if (cpuSeconds !== undefined) {
    const cpuMs = (1_000 * cpuSeconds) / pages;
    rows.push([
      "CPU time of a page, percolatordb",
      duration(cpuMs),
      "",
      verdict(cpuMs <= pageCpuMs, `at most ${pageCpuMs} ms`),
    ]);
  }
  return table(["", right("median"), "quartiles", "wanted"], rows);
}

function killTable(found: PeerResult): string {
  const rows = named(found).flatMap(([name, { afterKill }]) =>
    afterKill.map(({ killed, seconds, stuckJobs, afterSeconds, wrong, unlocked }) => [
      name,
      name.endsWith("PostgreSQL") && killed === "all processes" ? "all processes but the server" : killed,
      `${short(seconds)} s`,
      stuckJobs === 0 ? "0" : `${whole(stuckJobs)} after ${short(afterSeconds)} s`,
      whole(wrong),
      unlocked === undefined ? "" : `${whole(unlocked.wrong)}, ${short(unlocked.seconds)} s later`,
    ]),
  );
  const columns = [
    "",
    "killed (`SIGKILL`)",
    right("from the kill to the last work done"),
    right("jobs still locked by dead workers"),
  ];
  return table(
    [...columns, right("wrong cells at that time"), "wrong cells after these jobs were unlocked by hand"],
    rows,
  );
}

function ratePlot(found: PeerResult): Plot {
  const title = "The web index: pages a second";
  const svg = barChart({
    title,
    description:
      "Pages loaded and indexed each second by percolatordb in a folder and on PostgreSQL, by PostgreSQL with graphile-worker, and by building the same index from scratch with no database.",
    axis: "pages a second",
    series: ["pages"],
    groups: [
      ...named(found).map(
        ([
          name,
          {
            pagesPerSecond: { median, low, high },
          },
        ]) => ({
          name: name === "PostgreSQL" ? "PostgreSQL and graphile-worker" : name,
          bars: [{ value: median, low, high, text: short(median) }],
        }),
      ),
      {
        name: "rebuild in memory, no database",
        bars: [{ value: found.rebuild.pagesPerSecond, text: short(found.rebuild.pagesPerSecond) }],
      },
    ],
  });
  return { name: "peer", alt: title, svg };
}

function delayPlot(found: PeerResult): Plot {
  const title = "The web index: delay until a search finds a page";
  const svg = barChart({
    title,
    description:
      "Delay from when a page was due to the commit after which a search finds it: 5th, 50th and 95th percentile. The axis is logarithmic.",
    axis: "ms",
    kind: "log",
    series: ["p5", "p50", "p95"],
    groups: named(found).map(
      ([
        name,
        {
          delayMs: { p5, p50, p95 },
        },
      ]) => ({
        name,
        bars: [p5, p50, p95].map((value) => ({ value, text: duration(value) })),
      }),
    ),
  });
  return { name: "peer-delay", alt: title, svg };
}
