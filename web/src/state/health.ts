import type {
  AttachedOverview,
  Count,
  ObserverOverview,
  Overview,
  ScheduleOverview,
} from "../../../src/dashboard/api/index.js";
import { bounded, count, counted, moreThan, rate } from "../format/numbers.js";
import { duration } from "../format/times.js";
import { trend } from "../format/trend.js";
import type { View } from "../routing/route.js";

/** How bad a state is. Signs and colours depend on it. */
export type Level = "ok" | "warn" | "bad" | "idle";

const rank: Readonly<Record<Level, number>> = { bad: 3, warn: 2, ok: 1, idle: 0 };

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

export type ProblemKind = "no worker" | "late" | "behind" | "parked" | "failing";

/** One thing that is wrong with an observer. */
export interface Problem extends Health {
  readonly kind: ProblemKind;
  /** What to do about it. */
  readonly remedy: string;
  readonly lookAt: View;
}

/** Whether anybody runs an observer. `db.drain()` runs it too, and works only as long as it lasts. */
function isWorked({ hosts, runsPerSecond }: ObserverOverview): boolean {
  return hosts > 0 || runsPerSecond > 0;
}

/** Everything that is wrong with an observer, the worst first. */
export function problemsOf(observer: ObserverOverview): readonly Problem[] {
  const { pending, oldestPendingMs = 0, retrying, parked, failuresPerSecond, growthPerSecond } = observer;
  const waits = `${counted(pending.count, "change")}${pending.isBound ? " or more" : ""}`;
  const problems: Problem[] = [];
  const add = (level: Level, kind: ProblemKind, lookAt: View, why: string, remedy: string) =>
    problems.push({ level, kind, word: kind, why, remedy, lookAt });
  if (!isWorked(observer) && pending.count > 0)
    add(
      "bad",
      "no worker",
      "workers",
      `${waits} wait, and no worker runs it.`,
      "Start a worker that has it in its module.",
    );
  if (pending.count > 0 && oldestPendingMs >= behindMs) {
    const how = trend(growthPerSecond, pending);
    const why = `The oldest of ${waits} has waited ${duration(oldestPendingMs)}${how === "" ? "" : `, ${how}`}.`;
    const isFailing = 2 * retrying.count > pending.count;
    const remedy = isFailing
      ? "Most of these changes failed and wait for their next attempt. Read the errors."
      : growthPerSecond !== undefined && growthPerSecond < 0
        ? "It catches up. Wait, or start another worker."
        : "See what its runs wait for. Then raise its concurrency, or start another worker.";
    const lookAt = isFailing ? "failures" : "transactions";
    if (oldestPendingMs >= lateMs) add("bad", "late", lookAt, why, remedy);
    else add("warn", "behind", lookAt, why, remedy);
  }
  if (parked.count > 0)
    add(
      "warn",
      "parked",
      "failures",
      `It parked ${moreThan(parked, "change")}.`,
      "Read the errors. Once the cause is gone, retry them.",
    );
  if (failuresPerSecond > 0 || retrying.count > 0)
    add("warn", "failing", "failures", failing(retrying, failuresPerSecond), "Read the errors.");
  return problems.sort((a, b) => rank[b.level] - rank[a.level]);
}

/** What fails and is not parked. A failing change waits before it is tried again, so the rate may be 0. */
function failing(retrying: Count, failuresPerSecond: number): string {
  const runs = `${rate(failuresPerSecond)} of its runs fail each second`;
  if (retrying.count === 0) return `${runs}. They are tried again.`;
  const changes = `${moreThan(retrying, "change")} failed and ${retrying.count === 1 && !retrying.isBound ? "is" : "are"} tried again`;
  return failuresPerSecond > 0 ? `${changes}: ${runs}.` : `${changes}.`;
}

/** The state of an observer. If several states apply, the worst one. */
export function healthOf(observer: ObserverOverview): Health {
  const { pending, delay } = observer;
  const [worst] = problemsOf(observer);
  if (worst !== undefined) return worst;
  if (!isWorked(observer))
    return { level: "idle", word: "no worker", why: "Nothing waits, and no worker runs it." };
  return pending.count === 0 && delay.count === 0
    ? { level: "ok", word: "idle", why: "Nothing waits." }
    : { level: "ok", word: "fresh", why: "It keeps up with the changes." };
}

/** The states of an observer besides the worst one, in a word each, and how many changes it parked. */
export function otherStates(observer: ObserverOverview): readonly string[] {
  const [worst, ...others] = problemsOf(observer);
  const words = others.map(({ word }) => word).filter((word) => word !== "parked");
  const isParked = observer.parked.count > 0 && worst !== undefined;
  return isParked ? [...words, `${bounded(observer.parked)} parked`] : words;
}

/** Observers by how bad their state is, the worst first. */
export function worstFirst(observers: readonly ObserverOverview[]): readonly ObserverOverview[] {
  const byRank = (observer: ObserverOverview) => rank[healthOf(observer).level];
  return observers.toSorted((a, b) => byRank(b) - byRank(a) || oldest(b) - oldest(a));
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

/** How much of an SQL table is copied. */
export function copyText({ copy: { phase, rows, estimatedRows } }: AttachedOverview): string {
  if (phase === "done") return "copied";
  if (phase === "prune") return "comparing";
  return `copying, ${count(rows)}${estimatedRows ? ` of about ${count(estimatedRows)}` : ""} rows`;
}

/** The state of an attached SQL table: whether observers see its changes. */
export function healthOfAttached(table: AttachedOverview): Health & { readonly remedy: string } {
  const { problem, problemSince, pending, oldestPendingMs = 0, copy } = table;
  if (problem !== undefined) {
    const word = problemSince === undefined ? "does not fit" : "parked";
    const why = `Observers see none of its changes. ${problem}`;
    return { level: "bad", word, why, remedy: "Correct the table or its declaration. Then attach it again." };
  }
  const remedy = "Start a worker with the module that declares it.";
  if (oldestPendingMs >= behindMs) {
    const [level, word] =
      oldestPendingMs >= lateMs ? (["bad", "late"] as const) : (["warn", "behind"] as const);
    const changes = `${counted(pending.count, "change")}${pending.isBound ? " or more" : ""}`;
    const why = `The oldest of ${changes} was written ${duration(oldestPendingMs)} ago, and no worker has moved it.`;
    return { level, word, why, remedy };
  }
  if (copy.phase !== "done")
    return { level: "ok", word: "copying", why: "Its rows are being copied or compared.", remedy };
  return { level: "ok", word: "fresh", why: "All its changes are moved.", remedy };
}

/** Attached tables by how bad their state is, the worst first. */
export function worstAttachedFirst(attached: readonly AttachedOverview[]): readonly AttachedOverview[] {
  const byRank = (table: AttachedOverview) => rank[healthOfAttached(table).level];
  return attached.toSorted((a, b) => byRank(b) - byRank(a));
}

export interface Verdict extends Health {
  /** The view that shows more. */
  readonly lookAt: "workers" | undefined;
  /** Whether the list of what is wrong says more about it. */
  readonly isListed: boolean;
}

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
  const worst = worstFirst(observers).map((observer) => ({ observer, health: healthOf(observer) }))[0];
  const silent = silentVerdict(overview);
  const [other] = [silent, worstAttached(overview), worstSchedule(overview)]
    .filter((each) => each !== undefined)
    .sort((a, b) => rank[b.level] - rank[a.level]);
  if (other !== undefined) {
    const isWorse = rank[other.level] > rank[worst?.health.level ?? "idle"];
    if (isWorse || (other === silent && worst?.health.level !== "bad")) return other;
  }
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
  if (health.level === "bad" || health.level === "warn") {
    const title = health.word === "parked" ? `${name} has parked changes` : `${name}: ${health.word}`;
    return { ...verdict(health.level, title, `${health.why}${also}`), isListed: true };
  }
  if (overview.workers === 0)
    return verdict("idle", "Nothing waits, and no worker runs", "New changes will wait.");
  const oldestMs = Math.max(0, ...observers.map(oldest));
  const what = oldestMs === 0 ? "Nothing waits." : `The oldest change has waited ${duration(oldestMs)}.`;
  return verdict("ok", "Everything is fresh", `${counted(observers.length, "observer")} up to date. ${what}`);
}

/** What to know about processes that have stopped sending heartbeats. */
function silentVerdict({ silent }: Overview): Verdict | undefined {
  const there = silent.filter(({ exists }) => exists !== false);
  if (there.length === 0) return undefined;
  const word = `${counted(there.length, "process does", "processes do")} not answer`;
  const why = "No heartbeat comes any more. Other workers take over the work.";
  return { ...verdict("warn", word, why, "workers"), isListed: true };
}

/** The attached table that is worst. Undefined if observers see the changes of all of them. */
function worstAttached({ attached }: Overview): Verdict | undefined {
  const [worst] = worstAttachedFirst(attached);
  if (worst === undefined) return undefined;
  const { level, word, why } = healthOfAttached(worst);
  return level === "ok" ? undefined : { ...verdict(level, `${worst.source}: ${word}`, why), isListed: true };
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
  return { level, word, why, lookAt, isListed: false };
}
