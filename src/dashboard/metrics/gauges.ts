import type { DatabaseReach } from "../../database/index.js";
import type { ExposedMetric, MetricDescription, MetricSample } from "../../events/index.js";
import type { AttachedTableStatus } from "../../postgres/index.js";
import { attachedProblem } from "../attached.js";
import type { ObserverBacklog } from "../backlog.js";
import type { Overdue } from "../overdue.js";
import type { Standing } from "../standing.js";

/** What this process knows of the store and its cluster when a scraper asks. */
export interface SampledDistribution {
  /** What the store held at the newest successful count. Undefined before the first count. */
  readonly standing: Standing | undefined;
  /** Whether a newer count failed or did not end in time, or the store no longer answers. */
  readonly isStale: boolean;
  readonly reach: DatabaseReach;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A metric of the store. Other metrics belong to one process. */
export interface GaugeDescription extends Omit<MetricDescription, "read"> {
  readonly kind: "gauge";
  readonly read: (sampled: SampledDistribution) => readonly MetricSample[];
}

function gauge(
  name: string,
  about: string,
  read: GaugeDescription["read"],
  labels: readonly string[] = [],
): GaugeDescription {
  return { kind: "gauge", name, about, labels, read };
}

/**
 * Returns a gauge of what the store holds. It has no samples before the first count of the store.
 */
function standingGauge(
  name: string,
  about: string,
  read: (standing: Standing) => readonly MetricSample[],
  labels?: readonly string[],
): GaugeDescription {
  return gauge(name, about, ({ standing }) => (standing === undefined ? [] : read(standing)), labels);
}

function observerGauge(
  name: string,
  about: string,
  read: (backlog: ObserverBacklog, now: number) => number | undefined,
): GaugeDescription {
  const samples = ({ observers, now }: Standing) =>
    observers.flatMap((each) => {
      const value = read(each, now);
      return value === undefined ? [] : [{ labels: { observer: each.record.name }, value }];
    });
  return standingGauge(name, about, samples, ["observer"]);
}

function scheduleGauge(
  name: string,
  about: string,
  read: (overdue: Overdue, now: number) => number,
): GaugeDescription {
  const samples = ({ schedules, now }: Standing) =>
    schedules.map((each) => ({ labels: { schedule: each.schedule }, value: read(each, now) }));
  return standingGauge(name, about, samples, ["schedule"]);
}

/** A gauge of the attached tables. It has no samples if this role may not read them. */
function attachedGauge(
  name: string,
  about: string,
  read: (table: AttachedTableStatus) => number,
): GaugeDescription {
  const samples = ({ attached }: Standing) =>
    attached.tables.map((each) => ({ labels: { source: each.source }, value: read(each) }));
  return standingGauge(name, about, samples, ["source"]);
}

const one = (value: number | boolean): readonly MetricSample[] => [{ labels: {}, value: Number(value) }];

const secondsSince = (from: number, now: number) => Math.max(0, now - from) / 1_000;

/** Every gauge of the store and its cluster. */
export const gaugeCatalogue: readonly GaugeDescription[] = [
  gauge(
    "store_answers",
    "1 if the store answers this request for metrics within 0.7 s, otherwise 0.",
    ({ reach }) => one(reach.store.answers),
  ),
  gauge(
    "coordinator_answers",
    "1 if the cluster's coordinator answers this process within 0.7 s, otherwise 0, also if it refuses the token. Absent if the process uses no coordinator.",
    ({ reach: { coordinator } }) => (coordinator === undefined ? [] : one(coordinator.answers)),
  ),
  gauge(
    "standing_stale",
    "1 if the gauges of the store are old because no newer read of the store succeeded, otherwise 0.",
    ({ isStale }) => one(isStale),
  ),
  gauge(
    "standing_age_seconds",
    "Age of the gauges of the store. Absent, like those gauges, before the first read of the store.",
    ({ standing, now }) => (standing === undefined ? [] : one(secondsSince(standing.now, now))),
  ),
  observerGauge(
    "pending_changes",
    "Changes that wait for an observer; at most 10,000 of each observer are counted.",
    ({ pending }) => pending.count,
  ),
  observerGauge(
    "oldest_pending_age_seconds",
    "Age of the oldest counted pending change; 0 if there is none.",
    ({ pending: { oldest } }, now) => (oldest === undefined ? 0 : secondsSince(oldest.getTime(), now)),
  ),
  observerGauge(
    "parked_changes",
    "Parked changes of an observer; at most 10,000 of each observer are counted, for at most 2 s. Absent if none was found in that time, although there may be some.",
    ({ parked: { count, more } }) => (count === 0 && more ? undefined : count),
  ),
  scheduleGauge(
    "overdue_changes",
    "Changes of a schedule that should have fired and have not; at most 10,000 of each schedule are counted.",
    ({ count }) => count,
  ),
  scheduleGauge(
    "oldest_overdue_age_seconds",
    "Time since the oldest counted overdue change was due; 0 if there is none.",
    ({ oldest }, now) => (oldest === undefined ? 0 : secondsSince(oldest.getTime(), now)),
  ),
  attachedGauge(
    "attached_problem",
    "1 if observers see no changes of an attached SQL table, because it is parked or does not fit its triggers, otherwise 0. Absent, like the other gauges of attached tables, if the role may not read them.",
    (table) => Number(attachedProblem(table) !== undefined),
  ),
  attachedGauge(
    "attached_pending_changes",
    "Changes of an attached SQL table that no worker has moved yet; at most 10,000 of each table are counted.",
    ({ pending }) => pending,
  ),
  attachedGauge(
    "attached_oldest_pending_age_seconds",
    "Age of the oldest counted change of an attached SQL table; 0 if there is none.",
    ({ oldestPendingAgeMs = 0 }) => oldestPendingAgeMs / 1_000,
  ),
  attachedGauge(
    "attached_copying",
    "1 while rows of an attached SQL table are copied or compared, otherwise 0.",
    ({ copy }) => Number(copy.phase !== "done"),
  ),
  standingGauge("sessions", "Processes with workers.", ({ status }) => one(status.sessions.size)),
  standingGauge(
    "clock_offset_seconds",
    "The largest difference between this process's clock and that of another process with workers, accurate to about a second; 0 if there is no other one.",
    ({ status: { sessions } }) => {
      const offsets = [...sessions.values()].map(({ clockOffsetMs = 0 }) => Math.abs(clockOffsetMs));
      return one(Math.max(0, ...offsets) / 1_000);
    },
  ),
  standingGauge(
    "retention_seconds",
    "The retention with which this process opened the database.",
    ({ status }) => one(status.retentionMs / 1_000),
  ),
  standingGauge(
    "latest_timestamp",
    "The newest timestamp; on Bigtable, the newest one that this process has received.",
    ({ status }) => one(status.latestTimestamp),
  ),
  standingGauge(
    "safepoint_age_seconds",
    "Age of the safepoint, below which garbage may have been collected; absent before the first collection.",
    ({ status: { safepointAgeMs } }) => (safepointAgeMs === undefined ? [] : one(safepointAgeMs / 1_000)),
  ),
  standingGauge(
    "store_statistic",
    "A figure that the store reports about itself, such as bytes or entries.",
    ({ status: { statistics } }) =>
      Object.entries(statistics).map(([statistic, value]) => ({ labels: { statistic }, value })),
    ["statistic"],
  ),
];

/** The samples of every gauge. */
export function exposedGauges(sampled: SampledDistribution): readonly ExposedMetric[] {
  return gaugeCatalogue.map((each) => ({ ...each, samples: each.read(sampled) }));
}
