import type { CoordinatorStatus } from "../../database/index.js";
import type { ObserverOverview, Overview } from "../api.js";
import { addHistograms, durationsOf } from "../recording/histogram.js";
import { type Report, seriesSeconds } from "../recording/report.js";
import { addSeries } from "../recording/seconds.js";
import type { ViewContext } from "./context.js";
import { countOf, type ObserverStanding, type Standing, sumOf } from "./standing.js";

/** The state of the database and of its observers. */
export async function overview(context: ViewContext): Promise<Overview> {
  const [standing, reports] = await Promise.all([context.standing.get(), context.gathered.reports()]);
  const { status, locks } = standing;
  const now = Math.round(context.environment.now());
  const sum = (read: (report: Report) => number) =>
    reports.reduce((total, report) => total + read(report), 0);
  return {
    now,
    reach: context.reach,
    observers: observerOverviews(standing, reports),
    schedules: standing.schedules.map(({ schedule, oldest, ...backlog }) => ({
      name: schedule,
      overdue: countOf(backlog),
      oldestOverdueMs: oldest === undefined ? undefined : Math.max(0, standing.now - oldest.getTime()),
    })),
    commitsPerSecond: sum((report) => report.commitsPerSecond),
    conflictsPerSecond: sum((report) => report.conflictsPerSecond),
    rollbacksPerSecond: sum((report) => report.rollbacksPerSecond),
    commits: addSeries(
      reports.map(({ commits }) => commits),
      now,
      seriesSeconds,
    ),
    conflicts: addSeries(
      reports.map(({ conflicts }) => conflicts),
      now,
      seriesSeconds,
    ),
    transactionDuration: durationsOf(addHistograms(reports.map(({ duration }) => duration))),
    pending: sumOf(standing.observers.map(({ pending }) => countOf(pending))),
    parked: sumOf(standing.observers.map(({ parked }) => countOf(parked))),
    locks,
    workers: status.sessions.size,
    safepointAgeMs: status.safepointAgeMs,
    latestTimestamp: status.latestTimestamp,
    coordinator: coordinatorShown(status.coordinator),
    statistics: status.statistics,
  };
}

/** The coordinator of the cluster; undefined if the database uses none. */
export function coordinatorShown(coordinator: CoordinatorStatus | undefined): Overview["coordinator"] {
  if (coordinator === undefined) return undefined;
  return { address: coordinator.leader, answers: coordinator.answers === true };
}

/** Each observer, with its backlog and the outcome of its recent runs. */
export function observerOverviews(
  standing: Standing,
  reports: readonly Report[],
): readonly ObserverOverview[] {
  return standing.observers.map((observer) => observerOverview(standing, observer, reports));
}

function observerOverview(
  { status, now }: Standing,
  { record, pending, parked }: ObserverStanding,
  reports: readonly Report[],
): ObserverOverview {
  const { name, version } = record;
  const own = reports.flatMap(({ observers }) => (Object.hasOwn(observers, name) ? [observers[name]!] : []));
  return {
    name,
    watches: `${record.table}.${record.column}`,
    hosts: [...status.sessions.values()].filter(({ observers }) => observers[name] === version).length,
    pending: countOf(pending),
    oldestPendingMs: pending.oldest === undefined ? undefined : Math.max(0, now - pending.oldest.getTime()),
    parked: countOf(parked),
    delay: durationsOf(addHistograms(own.map(({ delay }) => delay))),
    runsPerSecond: own.reduce((sum, { runsPerSecond }) => sum + runsPerSecond, 0),
    failuresPerSecond: own.reduce((sum, { failuresPerSecond }) => sum + failuresPerSecond, 0),
    conflictsPerSecond: own.reduce((sum, { conflictsPerSecond }) => sum + conflictsPerSecond, 0),
  };
}
