import type { Database, DatabaseReach } from "../../database/index.js";
import type { ExposedMetric, MetricDescription, MetricSample } from "../../events/index.js";
import { type Backlog, observerBacklogs } from "../backlog.js";

/**
 * Changes of one observer that are counted one by one. A bound, because scrapers ask every few
 * seconds.
 */
const max = { pending: 10_000, parked: 10_000 };

/** What the store and its cluster hold at `now`; the same for every process. */
export interface Standing {
  readonly status: Awaited<ReturnType<Database["status"]>>;
  /** By observer. */
  readonly pending: ReadonlyMap<string, Backlog>;
  readonly parked: ReadonlyMap<string, Backlog>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What is known beyond this process when a scraper asks. */
export interface Sampled {
  /** The newest look at the store that succeeded; undefined before the first. */
  readonly standing: Standing | undefined;
  /** Whether a newer look failed, or did not end in time. */
  readonly isStale: boolean;
  readonly reach: DatabaseReach;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Like a metric, but of the store instead of a process. */
export interface GaugeDescription extends Omit<MetricDescription, "read"> {
  readonly kind: "gauge";
  readonly read: (sampled: Sampled) => readonly MetricSample[];
}

/** A gauge of what the store holds: absent before the first look at the store. */
function standingGauge(
  gauge: Omit<GaugeDescription, "kind" | "read"> & {
    readonly read: (standing: Standing) => readonly MetricSample[];
  },
): GaugeDescription {
  const { read } = gauge;
  return { ...gauge, kind: "gauge", read: ({ standing }) => (standing === undefined ? [] : read(standing)) };
}

const one = (value: number | boolean): readonly MetricSample[] => [{ labels: {}, value: Number(value) }];

function ofObservers(
  standing: ReadonlyMap<string, Backlog>,
  read: (backlog: Backlog) => number,
): readonly MetricSample[] {
  return [...standing].map(([observer, backlog]) => ({ labels: { observer }, value: read(backlog) }));
}

const ageOf = (oldest: Date | undefined, now: number) =>
  oldest === undefined ? 0 : Math.max(0, now - oldest.getTime()) / 1_000;

/** Every gauge beyond this process. */
export const gaugeCatalogue: readonly GaugeDescription[] = [
  {
    kind: "gauge",
    name: "store_answers",
    about: "1 if the store answers this request for metrics within 0.7 s, otherwise 0.",
    labels: [],
    read: ({ reach }) => one(reach.store.answers),
  },
  {
    kind: "gauge",
    name: "coordinator_answers",
    about:
      "1 if the cluster's coordinator answers this process within 0.7 s, otherwise 0, also if it refuses the token. Absent if the process uses no coordinator.",
    labels: [],
    read: ({ reach: { coordinator } }) => (coordinator === undefined ? [] : one(coordinator.answers)),
  },
  {
    kind: "gauge",
    name: "standing_stale",
    about: "1 if the gauges of the store are old because no newer look at the store succeeded, otherwise 0.",
    labels: [],
    read: ({ isStale }) => one(isStale),
  },
  {
    kind: "gauge",
    name: "standing_age_seconds",
    about: "Age of the gauges of the store. Absent, like those gauges, before the first look at the store.",
    labels: [],
    read: ({ standing, now }) => (standing === undefined ? [] : one(Math.max(0, now - standing.now) / 1_000)),
  },
  standingGauge({
    name: "pending_changes",
    about: "Changes that wait for an observer; at most 10,000 of each observer are counted.",
    labels: ["observer"],
    read: ({ pending }) => ofObservers(pending, ({ count }) => count),
  }),
  standingGauge({
    name: "oldest_pending_age_seconds",
    about: "Age of the oldest counted pending change; 0 if there is none.",
    labels: ["observer"],
    read: ({ pending, now }) => ofObservers(pending, ({ oldest }) => ageOf(oldest, now)),
  }),
  standingGauge({
    name: "parked_changes",
    about: "Parked changes of an observer; at most 10,000 of each observer are counted.",
    labels: ["observer"],
    read: ({ parked }) => ofObservers(parked, ({ count }) => count),
  }),
  standingGauge({
    name: "sessions",
    about: "Processes with workers.",
    labels: [],
    read: ({ status }) => [{ labels: {}, value: status.sessions.size }],
  }),
  standingGauge({
    name: "latest_timestamp",
    about: "The newest timestamp issued.",
    labels: [],
    read: ({ status }) => [{ labels: {}, value: status.latestTimestamp }],
  }),
  standingGauge({
    name: "safepoint_age_seconds",
    about:
      "Age of the safepoint, below which garbage may have been collected; absent before the first collection.",
    labels: [],
    read: ({ status: { safepointAgeMs } }) =>
      safepointAgeMs === undefined ? [] : [{ labels: {}, value: safepointAgeMs / 1_000 }],
  }),
  standingGauge({
    name: "store_statistic",
    about: "A figure that the store reports about itself, such as bytes or entries.",
    labels: ["statistic"],
    read: ({ status: { statistics } }) =>
      Object.entries(statistics).map(([statistic, value]) => ({ labels: { statistic }, value })),
  }),
];

/** Counts what the store holds. Reads at most 10,000 hints and parked records of each observer. */
export async function readStanding(db: Database, now: number, signal?: AbortSignal): Promise<Standing> {
  const status = await db.status();
  const pending = new Map<string, Backlog>();
  const parked = new Map<string, Backlog>();
  for (const observer of (await db.observers()).keys()) {
    const backlogs = await observerBacklogs(db, observer, max, signal);
    pending.set(observer, backlogs.pending);
    parked.set(observer, backlogs.parked);
  }
  return { status, pending, parked, now };
}

/** The samples of every gauge. */
export function exposedGauges(sampled: Sampled): readonly ExposedMetric[] {
  return gaugeCatalogue.map((gauge) => ({ ...gauge, samples: gauge.read(sampled) }));
}
