import { type BarGroup, barChart } from "../figures/chart.js";
import type { Figure } from "../figures/figure.js";
import { summarize } from "../harness/statistics.js";
import { duration, right, short, table, verdict, whole } from "../harness/words.js";
import type { Shape } from "./tables.js";

/** What a process has used from its start to one moment. */
interface Moment {
  /** Milliseconds since before the process was started. */
  readonly ms: number;
  /** Processor time of all threads, in milliseconds. */
  readonly cpuMs: number;
  /** The most anonymous memory so far, in bytes. Undefined if the system does not report it. */
  readonly anonymous?: number | undefined;
}

/** One process, from its start. */
export interface Started {
  /** The database is open. */
  readonly opened: Moment;
  /** The first derived commit, or the rebuilt map. */
  readonly first: Moment;
  /** The end. */
  readonly all: Moment;
  /** Changes handled, or rows read. */
  readonly handled: number;
  /** Derived totals that are wrong. Undefined if they were not compared. */
  readonly wrong?: number | undefined;
}

export interface HydrationResult {
  readonly options: Shape & { readonly rounds: number };
  readonly buildSeconds: number;
  readonly incremental: readonly Started[];
  readonly inMemory: readonly Started[];
  /** The process that handled all waiting changes. */
  readonly drained: Started;
  /** Derived totals that differ from those of the map, after all changes were handled. */
  readonly wrong: number;
}

const mostMs = 1_000;
const mostMiB = 300;
const mebibyte = 2 ** 20;

export function isRightHydration({ wrong, drained, options }: HydrationResult): boolean {
  return wrong === 0 && drained.handled > 0 && drained.handled <= options.waiting;
}

export const hydration: Figure = {
  name: "hydration",
  about: "time from the start of a process to its first derived commit, on a large database",
  measurements: [
    {
      name: "lmdb",
      script: "hydration",
      args: {
        small: ["--rows", "200000", "--waiting", "20000", "--rounds", "3"],
        full: ["--rows", "10000000", "--waiting", "100000", "--rounds", "5"],
      },
      minutes: { small: 5, full: 40 },
    },
  ],
  draw(results) {
    const found = results.get<HydrationResult>("lmdb")!;
    const alt = "Milliseconds from the start of a process";
    const groups = [
      groupOf("to the open database", momentsOf(found.incremental, "opened")),
      { ...groupOf("to the first derived commit", momentsOf(found.incremental, "first")), bound: mostMs },
      groupOf("to the table rebuilt in memory", momentsOf(found.inMemory, "first")),
    ];
    const svg = barChart({
      title: alt,
      description:
        "Milliseconds from the start of a process to the open database and to its first derived commit, beside the time in which a process rebuilds the derived table in memory. The axis is logarithmic.",
      axis: "ms",
      kind: "log",
      series: ["median"],
      groups,
      boundName: "at most",
    });
    return { tables: describeHydration(found), plots: [{ name: "hydration", alt, svg }] };
  },
};

export function describeHydration(result: HydrationResult): readonly string[] {
  const { options, incremental, inMemory, drained, wrong } = result;
  const columns = [
    "from the start of the process",
    right("time"),
    "quartiles",
    "at most",
    right("CPU time"),
    right("anonymous memory, MiB"),
    "at most",
  ];
  const load = `${whole(options.rows)} rows with derived totals and ${whole(options.waiting)} waiting changes, made in ${duration(result.buildSeconds * 1_000)}. ${whole(drained.handled)} changes were handled at last, in ${duration(drained.all.ms)}; totals wrong in the end: ${whole(wrong)}.`;
  const rows = [
    row("to the open database", momentsOf(incremental, "opened")),
    row("to the first derived commit", momentsOf(incremental, "first"), true),
    row("to the end of all waiting changes", [drained.all]),
    row("the derived table in a map in memory, to its end", momentsOf(inMemory, "first")),
  ];
  return [load, table(columns, rows)];
}

function groupOf(name: string, moments: readonly Moment[]): BarGroup {
  const { median, low, high } = summarize(moments.map(({ ms }) => ms));
  return { name, bars: [{ value: median, low, high, text: duration(median) }] };
}

const momentsOf = (all: readonly Started[], which: "opened" | "first") => all.map((each) => each[which]);

function row(name: string, moments: readonly Moment[], isBounded = false): readonly string[] {
  const ms = summarize(moments.map((moment) => moment.ms));
  const known = moments.flatMap(({ anonymous }) => (anonymous === undefined ? [] : [anonymous / mebibyte]));
  const most = known.length === 0 ? undefined : Math.max(...known);
  return [
    name,
    duration(ms.median),
    moments.length > 1 ? `${duration(ms.low)} to ${duration(ms.high)}` : "",
    isBounded ? verdict(ms.median < mostMs, duration(mostMs)) : "",
    duration(summarize(moments.map(({ cpuMs }) => cpuMs)).median),
    most === undefined ? "" : short(most),
    isBounded && most !== undefined ? verdict(most < mostMiB, `${mostMiB}`) : "",
  ];
}
