import type {
  AttachedOverview,
  ObserverOverview,
  Overview,
  Past,
  Pipeline,
  Reach,
  ScheduleOverview,
} from "../../src/dashboard/api/index.js";

/** An invented pipeline with the shape of a web index, and observers in every state. */

export const startedAt = Date.UTC(2025, 0, 31, 12, 0, 0);

const idle: Omit<ObserverOverview, "name" | "watches"> = {
  hosts: 2,
  pending: { count: 0, isBound: false },
  growthPerSecond: 0,
  oldestPendingMs: undefined,
  retrying: { count: 0, isBound: false },
  parked: { count: 0, isBound: false },
  delay: { count: 900, p50Ms: 12, p99Ms: 86 },
  runsPerSecond: 40.4,
  failuresPerSecond: 0,
  conflictsPerSecond: 0,
};

export const observers: readonly ObserverOverview[] = [
  { ...idle, name: "extract", watches: "documents.contents", runsPerSecond: 312 },
  {
    ...idle,
    name: "cluster",
    watches: "documents.hash",
    pending: { count: 418, isBound: false },
    growthPerSecond: -20,
    oldestPendingMs: 7_400,
    delay: { count: 900, p50Ms: 340, p99Ms: 2_900 },
    conflictsPerSecond: 3.1,
  },
  {
    ...idle,
    name: "invert",
    watches: "documents.links",
    pending: { count: 10_000, isBound: true },
    growthPerSecond: undefined,
    oldestPendingMs: 94_000,
    delay: { count: 900, p50Ms: 21_000, p99Ms: 71_000 },
  },
  {
    ...idle,
    name: "rank",
    watches: "documents.rescore",
    hosts: 0,
    runsPerSecond: 0,
    pending: { count: 3, isBound: false },
    oldestPendingMs: 600,
  },
  {
    ...idle,
    name: "index",
    watches: "documents.text",
    retrying: { count: 7, isBound: false },
    parked: { count: 12, isBound: false },
    failuresPerSecond: 0.4,
  },
  {
    ...idle,
    name: "merge",
    watches: "postings.parts",
    hosts: 0,
    delay: { count: 0, p50Ms: undefined, p99Ms: undefined },
    runsPerSecond: 0,
  },
];

const column = (name: string, kind: "column" | "family" | "signal" = "column") => ({ name, kind });

export const tables: Pipeline["tables"] = [
  {
    name: "documents",
    isInternal: false,
    owner: undefined,
    source: '"public"."pages"',
    columns: [
      column("contents"),
      column("title"),
      column("text"),
      column("hash"),
      column("links"),
      column("anchors", "family"),
      column("rescore", "signal"),
      column("fetched"),
    ],
  },
  {
    name: "clusters",
    isInternal: false,
    owner: undefined,
    source: undefined,
    columns: [column("canonical"), column("members", "family")],
  },
  {
    name: "postings",
    isInternal: false,
    owner: undefined,
    source: undefined,
    columns: [column("parts", "family"), column("merged")],
  },
  {
    name: "percolator_past",
    isInternal: true,
    owner: undefined,
    source: undefined,
    columns: [column("moment")],
  },
  {
    name: "postings_updates",
    isInternal: true,
    owner: "postings",
    source: undefined,
    columns: [column("update")],
  },
  {
    name: "postings_buckets",
    isInternal: true,
    owner: "postings",
    source: undefined,
    columns: [column("due", "signal"), column("resume")],
  },
];

const flow = (observer: string, does: "reads" | "writes", name: string, perSecond: number) => {
  const [table = "", of = ""] = name.split(".");
  return { observer, does, table, column: of, perSecond };
};

export const flows: Pipeline["flows"] = [
  flow("extract", "writes", "documents.title", 300),
  flow("extract", "writes", "documents.text", 300),
  flow("extract", "writes", "documents.hash", 310),
  flow("extract", "writes", "documents.links", 310),
  flow("cluster", "reads", "clusters.canonical", 41),
  flow("cluster", "writes", "clusters.canonical", 12),
  flow("cluster", "writes", "clusters.members", 40),
  flow("cluster", "writes", "documents.rescore", 4),
  flow("invert", "reads", "clusters.canonical", 900),
  flow("invert", "writes", "documents.anchors", 1_204),
  flow("invert", "writes", "documents.rescore", 88),
  flow("rank", "reads", "documents.anchors", 0),
  flow("rank", "writes", "documents.rescore", 0.004),
  flow("index", "reads", "documents.title", 40),
  flow("index", "writes", "postings.parts", 2_010),
  flow("merge", "writes", "postings.merged", 0),
  flow("merge", "writes", "postings_updates.update", 30),
  flow("merge", "writes", "postings_buckets.resume", 2),
];

const seconds = 120;

const schedules: readonly ScheduleOverview[] = [
  { name: "reminders", overdue: { count: 3, isBound: false }, oldestOverdueMs: 12_000 },
  { name: "renewals", overdue: { count: 0, isBound: false }, oldestOverdueMs: undefined },
];

const attached: readonly AttachedOverview[] = [
  {
    source: '"public"."pages"',
    name: "documents",
    problem: undefined,
    problemSince: undefined,
    copy: { phase: "done", rows: 20_000, estimatedRows: 20_000 },
    pending: { count: 4, isBound: false },
    oldestPendingMs: 40,
  },
  {
    source: '"shop"."orders"',
    name: "orders",
    problem: '"shop"."orders" has no column "total" any more.',
    problemSince: startedAt - 180_000,
    copy: { phase: "copy", rows: 500, estimatedRows: 1_200 },
    pending: { count: 0, isBound: false },
    oldestPendingMs: undefined,
  },
];

/** The overview some seconds after the start. */
export function overviewAt(tick: number, reach: Reach, these: readonly ObserverOverview[]): Overview {
  const isHeard = reach !== "store";
  const wave = (at: number, size: number) =>
    Math.round(size * (1 + Math.sin(at / 7) / 2 + ((at * 7_919) % 13) / 26));
  const values = (size: number) =>
    Array.from({ length: seconds }, (_, index) => (isHeard ? wave(index + tick, size) : 0));
  const now = startedAt + tick * 1_000;
  const sum = (read: (observer: ObserverOverview) => number) =>
    these.reduce((total, each) => total + read(each), 0);
  const bounded = these.some(({ pending }) => pending.isBound);
  return {
    now,
    reach,
    observers: these,
    schedules: these.length === 0 ? [] : schedules,
    attached: these.length === 0 ? [] : attached,
    attachedDenied: undefined,
    commitsPerSecond: isHeard ? values(700).at(-1)! : 0,
    conflictsPerSecond: isHeard ? 3.1 : 0,
    rollbacksPerSecond: isHeard ? 0.4 : 0,
    commits: { endsAt: now, values: values(700) },
    conflicts: { endsAt: now, values: values(3) },
    transactionDuration: isHeard
      ? { count: 1_024, p50Ms: 2.4, p99Ms: 31 }
      : { count: 0, p50Ms: undefined, p99Ms: undefined },
    pending: { count: sum(({ pending }) => pending.count), isBound: bounded },
    growthPerSecond: bounded ? undefined : 0,
    parked: { count: sum(({ parked }) => parked.count), isBound: false },
    locks: { count: these.length === 0 ? 0 : 3, isBound: false },
    workers: these.length === 0 ? 0 : 2,
    unseen: these.length === 0 ? [] : ["993 on beta"],
    silent: [],
    safepointAgeMs: these.length === 0 ? undefined : 3_612_000,
    latestTimestamp: now * 1_000,
    coordinator: undefined,
    statistics: these.length === 0 ? {} : { entries: 1_204_311, fileBytes: 812_000_000, readers: 4 },
  };
}

/** The hour before: a backlog that has grown for twenty minutes. */
export function pastAt(reach: Reach, these: readonly ObserverOverview[]): Past {
  const moments = Array.from({ length: these.length === 0 ? 0 : 360 }, (_, index) => {
    const grown = Math.max(0, index - 240) / 120;
    const observers = Object.fromEntries(
      these.map(({ name, pending, oldestPendingMs = 0, parked, failuresPerSecond, hosts }) => [
        name,
        [
          Math.round(pending.count * grown),
          Math.round(oldestPendingMs * grown),
          index > 300 ? parked.count : 0,
          failuresPerSecond,
          hosts,
        ] as const,
      ]),
    );
    const rate = (value: number) => (reach === "store" ? undefined : value * (1 + Math.sin(index / 9) / 3));
    return {
      at: startedAt - (360 - index) * 10_000,
      pending: Math.round(10_421 * grown),
      oldestMs: Math.round(94_000 * grown),
      parked: index > 300 ? 12 : 0,
      commits: rate(700),
      conflicts: rate(3),
      failures: rate(0.4),
      observers,
    };
  });
  return { everyMs: 10_000, moments, keptIn: "memory" };
}
