import type { TransactionShown } from "../api/index.js";

/** The most transactions of each list. */
export const maxTransactions = 500;
const maxOfKind = 200;

/** The lists of transactions. All but `recent` keep what would be lost among many others. */
export const transactionLists = ["recent", "slow", "conflicts", "failed"] as const;
export type TransactionList = (typeof transactionLists)[number];

/** What the lists depend on. */
interface Kept {
  readonly outcome: TransactionShown["outcome"];
  readonly durationMs: number;
  readonly endedAt: number;
}

/**
 * The newest transactions, and lists of their own for the slowest of the last minutes, for those
 * that conflicted, and for those that failed. Hundreds of transactions a second thus push none of
 * these out. All lists are bounded.
 */
export class KeptTransactions<T> {
  readonly #read: (transaction: T) => Kept;
  readonly #windowMs: number;
  readonly #lists: Record<TransactionList, T[]> = { recent: [], slow: [], conflicts: [], failed: [] };
  /** No slow transaction ended before. */
  #slowSince = Number.POSITIVE_INFINITY;

  /** `windowMs`: how long a transaction counts as slow. */
  constructor(read: (transaction: T) => Kept, windowMs: number) {
    this.#read = read;
    this.#windowMs = windowMs;
  }

  /** Adds a transaction that ended after all others, or at about the same time. */
  add(transaction: T): void {
    const { outcome } = this.#read(transaction);
    const { recent, conflicts, failed } = this.#lists;
    push(recent, transaction, maxTransactions);
    if (outcome === "conflict") push(conflicts, transaction, maxOfKind);
    if (outcome === "rolled back") push(failed, transaction, maxOfKind);
    if (outcome === "committed") this.#addSlow(transaction);
  }

  /** Keeps the slowest, sorted by duration, the slowest first. Of equally slow ones, the newest. */
  #addSlow(transaction: T): void {
    const { durationMs, endedAt } = this.#read(transaction);
    if (this.#lists.slow.length === maxOfKind) this.#forgetSlow(endedAt);
    const list = this.#lists.slow;
    if (list.length === maxOfKind) {
      if (this.#read(list.at(-1)!).durationMs > durationMs) return;
      list.pop();
    }
    this.#slowSince = Math.min(this.#slowSince, endedAt);
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#read(list[middle]!).durationMs > durationMs) low = middle + 1;
      else high = middle;
    }
    list.splice(low, 0, transaction);
  }

  /** Removes slow transactions that ended before the window. */
  #forgetSlow(nowMs: number): void {
    const since = nowMs - this.#windowMs;
    if (this.#slowSince > since) return;
    this.#lists.slow = this.#lists.slow.filter((each) => this.#read(each).endedAt > since);
    this.#slowSince = Math.min(...this.#lists.slow.map((each) => this.#read(each).endedAt));
  }

  /** The transactions of a list at a time, newest first; the slow ones slowest first. */
  list(name: TransactionList, nowMs: number): readonly T[] {
    const { [name]: list } = this.#lists;
    if (name !== "slow") return list.slice(-sizeOf(name)).reverse();
    return list.filter((each) => this.#read(each).endedAt > nowMs - this.#windowMs);
  }

  /** Every transaction of any list, each once, in no order. */
  all(): ReadonlySet<T> {
    return new Set(Object.values(this.#lists).flat());
  }
}

const sizeOf = (name: TransactionList) => (name === "recent" ? maxTransactions : maxOfKind);

/** Appends, and drops the oldest half of twice as many as are kept. */
function push<T>(list: T[], transaction: T, max: number): void {
  list.push(transaction);
  if (list.length >= 2 * max) list.splice(0, max);
}
