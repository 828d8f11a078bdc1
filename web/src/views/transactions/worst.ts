import type { Overview, PastMoment, TransactionShown } from "../../../../src/dashboard/api/index.js";
import { counted, rate } from "../../format/numbers.js";
import { columnName, oneLine } from "../../format/text.js";
import { duration } from "../../format/times.js";
import { hashOf } from "../../routing/route.js";
import type { Level } from "../../state/health.js";
import { type Since, sinceSo } from "../../state/past.js";

/** One thing that is wrong with the transactions of the last minutes. */
export interface Trouble {
  readonly kind: "failing" | "conflicting" | "slow";
  readonly level: Level;
  readonly since: Since | undefined;
  readonly why: string;
  readonly remedy: string;
  readonly href: string;
}

/** The most transactions of a list: enough to tell what fails or conflicts most now. */
export const maxListed = 50;

/** The newest transactions that failed and that conflicted, and the slowest. */
export interface Listed {
  readonly failed: readonly TransactionShown[];
  readonly conflicts: readonly TransactionShown[];
  readonly slow: readonly TransactionShown[];
}

const windowMs = 300_000;
/** A commit that took as long as this is worth a look, in milliseconds. */
const slowMs = 1_000;

/** What is wrong with transactions, the worst first. */
export function troublesOf(
  listed: Listed,
  now: Overview,
  moments: readonly PastMoment[],
): readonly Trouble[] {
  const troubles: Trouble[] = [];
  const recent = (list: readonly TransactionShown[]) =>
    list.filter(({ endedAt }) => endedAt > now.now - windowMs);
  const [failed, conflicts, [slowest]] = [recent(listed.failed), recent(listed.conflicts), listed.slow];
  if (failed.length > 0) {
    const observer = mostOf(failed, (each) => each.observer ?? "");
    troubles.push({
      kind: "failing",
      level: "bad",
      since: sinceSo(moments, ({ failures = 0 }) => failures > 0),
      why: `${often(now.rollbacksPerSecond, failed)}, ${mostOften(failed, nameOf)}.`,
      remedy: "Read the errors.",
      href: observer === "" ? hashOf("transactions", { show: "failed" }) : hashOf("failures", { observer }),
    });
  }
  if (conflicts.length > 0)
    troubles.push({
      kind: "conflicting",
      level: "warn",
      since: sinceSo(moments, ({ conflicts: times = 0 }) => times > 0),
      why: `${often(now.conflictsPerSecond, conflicts)}, ${mostOften(conflicts, lostBy)}.`,
      remedy: "See what helps.",
      href: hashOf("transactions", { show: "conflicts" }),
    });
  if (slowest !== undefined && slowest.durationMs >= slowMs)
    troubles.push({
      kind: "slow",
      level: "warn",
      since: undefined,
      why: `${nameOf(slowest)} took ${duration(slowest.durationMs)}, the longest of five minutes.`,
      remedy: "See what it waited for.",
      href: hashOf("transactions", { show: "slow", id: slowest.id }),
    });
  return troubles;
}

/** How often it happens now. If it has stopped, how often it did. */
function often(perSecond: number, list: readonly TransactionShown[]): string {
  if (perSecond > 0) return `${rate(perSecond)} a second`;
  return `${counted(list.length, "time")}${list.length < maxListed ? "" : " or more"} in five minutes`;
}

/** What happens most often. A full list has only the newest, of which there may be more. */
function mostOften(list: readonly TransactionShown[], name: typeof nameOf): string {
  const most = mostOf(list, name);
  return list.length < maxListed ? `most often ${most}` : `most often of the newest ${maxListed}: ${most}`;
}

/** Names that are longer are cut. */
const maxOfName = 60;

/** Its observer or label, or `transaction`. */
export function nameOf({ observer, label = "transaction" }: TransactionShown): string {
  return cut(observer ?? label);
}

function cut(text: string): string {
  const name = [...oneLine(text)];
  return name.length > maxOfName ? `${name.slice(0, maxOfName - 1).join("")}…` : name.join("");
}

function lostBy(transaction: TransactionShown): string {
  const cell = transaction.conflict?.cell;
  return `${nameOf(transaction)}${cell === undefined ? "" : ` on ${cut(columnName(cell))}`}`;
}

/** What most of the transactions have in common. */
function mostOf(list: readonly TransactionShown[], read: (transaction: TransactionShown) => string): string {
  const counts = new Map<string, number>();
  for (const each of list.map(read)) counts.set(each, (counts.get(each) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]![0];
}
