import type { ObserverOverview, Overview, ScheduleOverview } from "../../../src/dashboard/api.js";
import { bounded, counted } from "../format/numbers.js";
import { duration } from "../format/times.js";

/** How bad a state is. Signs and colours depend on it. */
export type Level = "ok" | "warn" | "bad" | "idle";

export interface Health {
  readonly level: Level;
  /** One or two words. */
  readonly word: string;
  /** A sentence. */
  readonly why: string;
}

/**
 * An observer is behind if its oldest change has waited for `behindMs`, and late after `lateMs`.
 */
export const behindMs = 5_000;
export const lateMs = 60_000;

/** The state of an observer. If several states apply, the worst one. */
export function healthOf(observer: ObserverOverview): Health {
  const { hosts, pending, oldestPendingMs = 0, parked, failuresPerSecond, delay } = observer;
  const waits = `${counted(pending.count, "change")}${pending.isBound ? " or more" : ""}`;
  if (hosts === 0 && pending.count > 0)
    return { level: "bad", word: "no worker", why: `${waits} wait, and no worker runs it.` };
  if (pending.count > 0 && oldestPendingMs >= lateMs)
    return {
      level: "bad",
      word: "late",
      why: `The oldest of ${waits} has waited ${duration(oldestPendingMs)}.`,
    };
  if (parked.count > 0)
    return { level: "warn", word: "parked", why: `It parked ${bounded(parked)} of its changes.` };
  if (failuresPerSecond > 0)
    return { level: "warn", word: "failing", why: "Some of its runs fail. They are tried again." };
  if (pending.count > 0 && oldestPendingMs >= behindMs)
    return {
      level: "warn",
      word: "behind",
      why: `The oldest of ${waits} has waited ${duration(oldestPendingMs)}.`,
    };
  if (hosts === 0) return { level: "idle", word: "no worker", why: "Nothing waits, and no worker runs it." };
  return pending.count === 0 && delay.count === 0
    ? { level: "ok", word: "idle", why: "Nothing waits." }
    : { level: "ok", word: "fresh", why: "It keeps up with the changes." };
}

/** The state of a schedule: whether its due changes have fired. */
export function healthOfSchedule({ overdue, oldestOverdueMs = 0 }: ScheduleOverview): Health {
  if (overdue.count === 0) return { level: "ok", word: "on time", why: "Nothing is overdue." };
  const are = `${counted(overdue.count, "change")}${overdue.isBound ? " or more" : ""}`;
  const why = `The oldest of ${are} was due ${duration(oldestOverdueMs)} ago. A worker whose module exports the schedule fires them.`;
  if (oldestOverdueMs >= lateMs) return { level: "bad", word: "late", why };
  return oldestOverdueMs >= behindMs
    ? { level: "warn", word: "behind", why }
    : { level: "ok", word: "due", why };
}

export interface Verdict extends Health {
  /** The observer with the problem, if the problem belongs to one. */
  readonly observer: string | undefined;
  readonly lookAt: "pipeline" | "failures" | "workers" | undefined;
}

const rank: Readonly<Record<Level, number>> = { bad: 3, warn: 2, ok: 1, idle: 0 };

/** The state of the whole database in one line: its worst problem, or that it has none. */
export function verdictOf(overview: Overview): Verdict {
  const { observers, coordinator } = overview;
  if (coordinator?.answers === false)
    return verdict(
      "bad",
      "The coordinator does not answer",
      "No transaction can begin until one does.",
      "workers",
    );
  const late = worstSchedule(overview);
  const worst = observers
    .map((observer) => ({ observer, health: healthOf(observer) }))
    .sort(
      (a, b) => rank[b.health.level] - rank[a.health.level] || oldest(b.observer) - oldest(a.observer),
    )[0];
  if (late !== undefined && rank[late.level] > rank[worst?.health.level ?? "idle"]) return late;
  if (worst === undefined)
    return verdict(
      "idle",
      "No observer is registered",
      "Tables can be read and written, but no observer derives data from them.",
    );
  const { observer, health } = worst;
  const others = observers.filter(
    (each) => each !== observer && rank[healthOf(each).level] >= rank.warn,
  ).length;
  const also =
    others === 0 ? "" : ` ${counted(others, "other observer needs", "other observers need")} a look too.`;
  const name = observer.name;
  const lookAt = health.word === "parked" ? "failures" : health.word === "no worker" ? "workers" : "pipeline";
  if (health.level === "bad" || health.level === "warn") {
    const title = health.word === "parked" ? `${name} has parked changes` : `${name}: ${health.word}`;
    return { ...verdict(health.level, title, `${health.why}${also}`, lookAt), observer: name };
  }
  if (overview.workers === 0)
    return verdict("idle", "Nothing waits, and no worker runs", "New changes will wait.");
  const oldestMs = Math.max(0, ...observers.map(oldest));
  const what = oldestMs === 0 ? "Nothing waits." : `The oldest change has waited ${duration(oldestMs)}.`;
  return verdict("ok", "Everything is fresh", `${counted(observers.length, "observer")} up to date. ${what}`);
}

/** The schedule that is furthest behind. Undefined if no schedule is behind. */
function worstSchedule({ schedules }: Overview): Verdict | undefined {
  const late = [...schedules].sort((a, b) => (b.oldestOverdueMs ?? 0) - (a.oldestOverdueMs ?? 0))[0];
  if (late === undefined) return undefined;
  const { level, word, why } = healthOfSchedule(late);
  return rank[level] >= rank.warn ? verdict(level, `${late.name}: ${word}`, why, "workers") : undefined;
}

const oldest = ({ pending, oldestPendingMs = 0 }: ObserverOverview) =>
  pending.count === 0 ? 0 : oldestPendingMs;

function verdict(level: Level, word: string, why: string, lookAt?: Verdict["lookAt"]): Verdict {
  return { level, word, why, observer: undefined, lookAt };
}
