import { type BarGroup, barChart } from "../figures/chart.js";
import type { Figure, Measurement } from "../figures/figure.js";
import { percent, right, short, table, whole } from "../harness/words.js";
import type { KeysResult } from "./keys.js";
import type { NexmarkResult, NexmarkRun } from "./nexmark/run.js";
import {
  flink,
  flinkRates,
  foundationdb,
  foundationdbRates,
  type Source,
  tikv,
  tikvRates,
} from "./sources.js";
import type { YcsbResult } from "./ycsb.js";

/** What `npm run published` measures, by part. Undefined: the part was left out. */
export interface PublishedResult {
  readonly keys?: KeysResult | undefined;
  readonly ycsb?: YcsbResult | undefined;
  readonly nexmark?: NexmarkResult | undefined;
}

export const parts = ["keys", "ycsb", "nexmark"] as const;
export type Part = (typeof parts)[number];

function measurement(part: Part, small: readonly string[], full: readonly string[]): Measurement {
  return {
    name: part,
    script: "published",
    args: { small: ["--only", part, ...small], full: ["--only", part, ...full] },
    minutes: { small: 10, full: 45 },
  };
}

export const published: Figure = {
  name: "published",
  about: "benchmarks that others publish: FoundationDB's, YCSB and Nexmark",
  measurements: [
    measurement("keys", ["--rows", "100000", "--seconds", "3"], ["--rows", "1000000", "--seconds", "20"]),
    measurement("ycsb", ["--records", "10000", "--seconds", "3"], ["--records", "100000", "--seconds", "20"]),
    measurement("nexmark", ["--events", "4000"], ["--events", "100000"]),
  ],
  draw(results) {
    const all = parts.flatMap((part) => results.get<PublishedResult>(part) ?? []);
    const result: PublishedResult = Object.assign({}, ...all);
    const groups = groupsOf(result);
    const plots = groups.length === 0 ? [] : [{ name: "published", alt, svg: barsOf(groups) }];
    return { tables: describePublished(result), plots };
  },
};

export function isRightPublished({ keys, ycsb, nexmark }: PublishedResult): boolean {
  const wrong = [keys?.wrong, ycsb?.wrong, ...(nexmark?.runs.map((run) => run.wrong) ?? [])];
  return wrong.every((each) => each === undefined || each === 0);
}

const cited = ({ name, url, differs }: Source) => `Source: [${name}](${url}). What differs: ${differs}`;
const perSecond = (unit: string) => right(`${unit} a second`);
const perCpu = right("per second of CPU time");

export function describePublished({ keys, ycsb, nexmark }: PublishedResult): readonly string[] {
  return [
    ...(keys === undefined ? [] : describeKeys(keys)),
    ...(ycsb === undefined ? [] : describeYcsb(ycsb)),
    ...(nexmark === undefined ? [] : describeNexmark(nexmark)),
  ];
}

function describeKeys({ options, tests, wrong }: KeysResult): readonly string[] {
  const columns = [
    "each transaction",
    right("clients"),
    "unit",
    perSecond("ours,"),
    perCpu,
    right("FoundationDB"),
    right("conflicts"),
  ];
  const rows = tests.map(({ name, unit, clients, rate, conflictShare }, index) => [
    name,
    whole(clients),
    unit,
    whole(rate.perSecond),
    whole(rate.perCpuSecond),
    whole(foundationdbRates[index]!),
    percent(conflictShare),
  ]);
  return [
    `FoundationDB's tests: ${whole(options.rows)} rows with keys of 16 bytes and values of 8 to 100 bytes, ${whole(options.seconds)} s a test; rows wrong in the end: ${whole(wrong)}.`,
    table(columns, rows),
    cited(foundationdb),
  ];
}

function describeYcsb({ options, runs, wrong }: YcsbResult): readonly string[] {
  const columns = [
    "YCSB",
    "requests",
    right("clients"),
    perSecond("operations"),
    perCpu,
    right("conflicts"),
    "TiKV, a second",
  ];
  const rows = runs.map(({ workload, distribution, clients, rate, conflictShare }) => [
    workload,
    distribution,
    whole(clients),
    whole(rate.perSecond),
    whole(rate.perCpuSecond),
    percent(conflictShare),
    distribution === "zipfian" && (workload === "A" || workload === "C") ? tikvRates[workload] : "",
  ]);
  return [
    `YCSB: ${whole(options.records)} records of ten fields of 100 bytes, ${whole(options.seconds)} s a workload; fields wrong in the end: ${whole(wrong)}.`,
    table(columns, rows),
    cited(tikv),
  ];
}

const nameOf = ({ queries }: NexmarkRun) => (queries.length === 1 ? queries[0]! : "all at once");

function describeNexmark({ options, runs }: NexmarkResult): readonly string[] {
  const columns = [
    "Nexmark",
    perSecond("events"),
    perCpu,
    right("Flink, a second and core"),
    right("runs of observers"),
    right("rows of the answer"),
    right("wrong"),
  ];
  const rows = runs.map((run) => {
    const others = run.queries.length === 1 ? flinkRates[run.queries[0]!] : undefined;
    return [
      nameOf(run),
      short(options.events / run.seconds),
      short(options.events / run.cpuSeconds),
      others === undefined ? "" : whole(others),
      whole(run.runs),
      whole(run.lines),
      whole(run.wrong),
    ];
  });
  return [
    `Nexmark: ${whole(options.events)} events, loaded in transactions of 100 while the observers run, until nothing is due. *Wrong* counts rows that differ from those of the batch twin.`,
    table(columns, rows),
    cited(flink),
  ];
}

const alt = "Operations per second of CPU time, beside what others publish for a core";

function groupsOf({ keys, nexmark }: PublishedResult): readonly BarGroup[] {
  return [
    ...(keys?.tests ?? []).map(({ name, clients, rate }, index) => ({
      name: `${name}, ${clients === 1 ? "1 client" : `${clients} clients`}`,
      bars: [{ value: rate.perCpuSecond }, { value: foundationdbRates[index]! }],
    })),
    ...(nexmark?.runs ?? []).flatMap((run) => {
      const others = run.queries.length === 1 ? flinkRates[run.queries[0]!] : undefined;
      const ours = { value: nexmark!.options.events / run.cpuSeconds };
      return others === undefined
        ? []
        : [{ name: `Nexmark ${nameOf(run)}`, bars: [ours, { value: others }] }];
    }),
  ];
}

function barsOf(groups: readonly BarGroup[]): string {
  return barChart({
    title: alt,
    description:
      "Operations per second of processor time of percolatordb, and the rates that FoundationDB and Flink publish for one core, on a logarithmic axis.",
    axis: "operations",
    kind: "log",
    series: ["percolatordb", "published"],
    groups,
  });
}
