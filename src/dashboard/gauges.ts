import type { Database } from "../database/index.js";
import type { ExposedMetric, MetricDescription, MetricSample } from "../events/index.js";
import { type Backlog, countBacklog } from "./backlog.js";

/** Changes of an observer that are counted one by one, at most so many: it is done every few seconds. */
const mostCounted = 10_000;

/** What stands in the store and its cluster at a moment, whoever looks. */
export interface Standing {
  readonly status: Awaited<ReturnType<Database["status"]>>;
  /** By observer. */
  readonly pending: ReadonlyMap<string, Backlog>;
  readonly parked: ReadonlyMap<string, Backlog>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** As a metric, but of the store and not of a process. */
export interface GaugeDescription extends Omit<MetricDescription, "read"> {
  readonly kind: "gauge";
  readonly read: (standing: Standing) => readonly MetricSample[];
}

function ofObservers(
  standing: ReadonlyMap<string, Backlog>,
  read: (backlog: Backlog) => number,
): readonly MetricSample[] {
  return [...standing].map(([observer, backlog]) => ({ labels: { observer }, value: read(backlog) }));
}

const ageOf = (oldest: Date | undefined, now: number) =>
  oldest === undefined ? 0 : Math.max(0, now - oldest.getTime()) / 1_000;

/** Every gauge of what stands in the store. */
export const gaugeCatalogue: readonly GaugeDescription[] = [
  {
    kind: "gauge",
    name: "pending_changes",
    about: "Changes that wait for an observer; at most 10,000 of each are counted.",
    labels: ["observer"],
    read: ({ pending }) => ofObservers(pending, ({ count }) => count),
  },
  {
    kind: "gauge",
    name: "oldest_pending_age_seconds",
    about: "Age of the oldest of those that were counted; 0 for none.",
    labels: ["observer"],
    read: ({ pending, now }) => ofObservers(pending, ({ oldest }) => ageOf(oldest, now)),
  },
  {
    kind: "gauge",
    name: "parked_changes",
    about: "Changes that an observer was given up on; at most 10,000 of each are counted.",
    labels: ["observer"],
    read: ({ parked }) => ofObservers(parked, ({ count }) => count),
  },
  {
    kind: "gauge",
    name: "sessions",
    about: "Processes with workers.",
    labels: [],
    read: ({ status }) => [{ labels: {}, value: status.sessions.size }],
  },
  {
    kind: "gauge",
    name: "latest_timestamp",
    about: "The newest timestamp that was given out.",
    labels: [],
    read: ({ status }) => [{ labels: {}, value: status.latestTimestamp }],
  },
  {
    kind: "gauge",
    name: "safepoint_age_seconds",
    about:
      "Age of the safepoint, below which garbage may have been collected; absent before the first collection.",
    labels: [],
    read: ({ status: { safepointAgeMs } }) =>
      safepointAgeMs === undefined ? [] : [{ labels: {}, value: safepointAgeMs / 1_000 }],
  },
  {
    kind: "gauge",
    name: "coordinator_answers",
    about: "1 where the cluster's coordinator answers, else 0; absent where there never was one.",
    labels: [],
    read: ({ status: { coordinator } }) =>
      coordinator === undefined ? [] : [{ labels: {}, value: coordinator.answers ? 1 : 0 }],
  },
  {
    kind: "gauge",
    name: "store_statistic",
    about: "What the store counts of itself: bytes, entries and the like.",
    labels: ["statistic"],
    read: ({ status: { statistics } }) =>
      Object.entries(statistics).map(([statistic, value]) => ({ labels: { statistic }, value })),
  },
];

/** Looks at the store. Reads at most 10,000 hints and parked records of each observer. */
export async function readStanding(db: Database, now: number, signal?: AbortSignal): Promise<Standing> {
  const status = await db.status();
  const pending = new Map<string, Backlog>();
  const parked = new Map<string, Backlog>();
  for (const observer of (await db.observers()).keys()) {
    const options = { observer, signal };
    pending.set(observer, await countBacklog(db.pending(options), ({ since }) => since, mostCounted));
    parked.set(observer, await countBacklog(db.parked(options), ({ parkedAt }) => parkedAt, mostCounted));
  }
  return { status, pending, parked, now };
}

/** The gauges of what stands there. */
export function exposedGauges(standing: Standing): readonly ExposedMetric[] {
  return gaugeCatalogue.map((gauge) => ({ ...gauge, samples: gauge.read(standing) }));
}
