import type { CoordinatorStatus } from "../../database/index.js";
import type { AttachedTableStatus } from "../../postgres/index.js";
import type { AttachedOverview, ObserverOverview, Overview, Series } from "../api/index.js";
import { attachedProblem } from "../attached.js";
import type { Growth } from "../past/growth.js";
import { addHistograms, durationsOf } from "../recording/histogram.js";
import { type Report, seriesSeconds } from "../recording/report.js";
import { addSeries } from "../recording/slot-counts.js";
import { sumOf } from "../recording/sums.js";
import type { Standing } from "../standing.js";
import type { ViewContext } from "./context.js";
import { countAll, countOf, maxPending, waitedMs } from "./standing.js";

/** The state of the database and of its observers. */
export async function overview(
  context: Omit<ViewContext, "overview" | "past" | "locks" | "inspected">,
): Promise<Overview> {
  const [standing, reports] = await Promise.all([context.standing.get(), context.gathered.reports()]);
  const { status, locks } = standing;
  const now = Math.round(context.environment.now());
  const sum = (read: (report: Report) => number) => sumOf(reports, read);
  const series = (read: (report: Report) => Series) => addSeries(reports.map(read), now, seriesSeconds);
  const pending = countAll(standing.observers.map((observer) => observer.pending));
  const { growth } = context;
  growth.add(
    standing.now,
    new Map([
      [allObservers, pending],
      ...standing.observers.map((observer) => [observer.record.name, countOf(observer.pending)] as const),
    ]),
  );
  return {
    now,
    reach: context.reach,
    observers: observerOverviews(standing, reports, growth),
    schedules: standing.schedules.map((overdue) => ({
      name: overdue.schedule,
      overdue: countOf(overdue),
      oldestOverdueMs: waitedMs(overdue, standing.now),
    })),
    attached: standing.attached.tables.map(attachedOverview),
    attachedDenied: standing.attached.denied,
    commitsPerSecond: sum((report) => report.commitsPerSecond),
    conflictsPerSecond: sum((report) => report.conflictsPerSecond),
    rollbacksPerSecond: sum((report) => report.rollbacksPerSecond),
    commits: series(({ commits }) => commits),
    conflicts: series(({ conflicts }) => conflicts),
    transactionDuration: durationsOf(addHistograms(reports.map(({ duration }) => duration))),
    pending,
    growthPerSecond: growth.of(allObservers),
    parked: countAll(standing.observers.map(({ parked }) => parked)),
    locks,
    workers: status.sessions.size,
    unseen: unseenProcesses(standing, reports),
    silent: silentProcesses(standing),
    safepointAgeMs: status.safepointAgeMs,
    latestTimestamp: status.latestTimestamp,
    coordinator: coordinatorShown(status.coordinator),
    statistics: status.statistics,
  };
}

function attachedOverview(table: AttachedTableStatus): AttachedOverview {
  const { source, name, parked, pending, oldestPendingAgeMs, copy } = table;
  return {
    source,
    name,
    problem: attachedProblem(table),
    problemSince: parked?.at.getTime(),
    copy,
    pending: { count: pending, isBound: pending >= maxPending },
    oldestPendingMs: oldestPendingAgeMs,
  };
}

/** The name under which the growth of all backlogs together is kept. No observer has it. */
const allObservers = "";

/** The live processes of which no report came. */
function unseenProcesses({ status }: Standing, reports: readonly Report[]): readonly string[] {
  const heard = new Set(reports.map((report) => report.process));
  const all = [...status.sessions].filter(([session]) => !status.silent.has(session));
  return all.map(([, { process }]) => process).filter((process) => !heard.has(process));
}

/** The processes that stopped sending heartbeats, the newest first. */
export function silentProcesses({ status }: Standing): Overview["silent"] {
  return [...status.silent]
    .map(([session, { process, lastHeartbeatAt, exists }]) => ({ session, process, lastHeartbeatAt, exists }))
    .sort((a, b) => b.lastHeartbeatAt - a.lastHeartbeatAt);
}

/** The coordinator of the cluster; undefined if the database uses none. */
export function coordinatorShown(coordinator: CoordinatorStatus | undefined): Overview["coordinator"] {
  if (coordinator === undefined) return undefined;
  return { address: coordinator.leader, answers: coordinator.answers === true };
}

/** Each observer, with its backlog and the outcome of its recent runs. */
export function observerOverviews(
  { observers, status, now }: Standing,
  reports: readonly Report[],
  growth: Growth,
): readonly ObserverOverview[] {
  const sessions = [...status.sessions.values()];
  return observers.map(({ record, pending, retrying, parked }) => {
    const { name, version } = record;
    const own = reports.flatMap((report) =>
      Object.hasOwn(report.observers, name) ? [report.observers[name]!] : [],
    );
    return {
      name,
      watches: `${record.table}.${record.column}`,
      hosts: sessions.filter((session) => session.observers[name] === version).length,
      pending: countOf(pending),
      growthPerSecond: growth.of(name),
      oldestPendingMs: waitedMs(pending, now),
      retrying: { count: retrying, isBound: pending.more },
      parked: countOf(parked),
      delay: durationsOf(addHistograms(own.map(({ delay }) => delay))),
      runsPerSecond: sumOf(own, ({ runsPerSecond }) => runsPerSecond),
      failuresPerSecond: sumOf(own, ({ failuresPerSecond }) => failuresPerSecond),
      conflictsPerSecond: sumOf(own, ({ conflictsPerSecond }) => conflictsPerSecond),
    };
  });
}
