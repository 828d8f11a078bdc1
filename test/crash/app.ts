/** The application of the crash tests: documents with data derived from them, and a bank. */
import { int, type Observer, observer, type Transaction, table, text } from "percolatordb";

export const documents = table("documents", { contents: text(), length: int(), runs: int() });
export const words = table("words", { count: int() });
export const sizes = table("sizes", { count: int() });
export const initials = table("initials", { count: int() });
export const accounts = table("accounts", { balance: int() });
export const totals = table("totals", { sum: int() });
/** One row for each operation that was done. The operation itself writes the row. */
export const log = table("log", { done: int(), filler: text() });

export const tables = { documents, words, sizes, initials, accounts, totals, log };

export const wordsOf = (contents: string | undefined) => (contents ?? "").split(" ").filter(Boolean);
export const sizeOf = (length: number) => String(Math.floor(length / 64)).padStart(5, "0");
export const initialOf = (contents: string) => contents[0] ?? "";
export const shardOf = (account: string) => String(account.charCodeAt(account.length - 1) % 4);

type Counter = typeof words.count | typeof sizes.count | typeof initials.count;

/** Adds to a counter. A counter of 0 has no cell. */
async function add(tx: Transaction, column: Counter, row: string, difference: number): Promise<void> {
  if (difference === 0) return;
  const count = ((await tx.get(column, row)) ?? 0) + difference;
  if (count === 0) tx.delete(column, row);
  else tx.set(column, row, count);
}

const soon = { attempts: 100, backoff: { initialMs: 2, maximumMs: 40 } } as const;

/**
 * The observers that a database has by now: their version, and whether the late observer has been
 * added.
 */
export interface Generation {
  readonly version: number;
  readonly late: boolean;
}

/**
 * Creates the observers. All observers except `lengths` add differences to counts or sums. So if a
 * change is handled twice, or not at all, a count or a sum is wrong.
 */
export function observersOf({ version, late }: Generation): Observer[] {
  const lengths = observer(
    "lengths",
    documents.contents,
    async (tx, { row, value }) => {
      if (value === undefined) tx.delete(documents.length, row);
      else tx.set(documents.length, row, value.length);
      tx.set(documents.runs, row, ((await tx.get(documents.runs, row)) ?? 0) + 1);
    },
    { ...soon, version },
  );
  const counts = observer(
    "counts",
    documents.contents,
    async (tx, { value, previous }) => {
      const differences = new Map<string, number>();
      for (const word of wordsOf(value)) differences.set(word, (differences.get(word) ?? 0) + 1);
      for (const word of wordsOf(previous)) differences.set(word, (differences.get(word) ?? 0) - 1);
      for (const [word, difference] of differences) await add(tx, words.count, word, difference);
    },
    { ...soon, version },
  );
  const histogram = observer(
    "histogram",
    documents.length,
    async (tx, { value, previous }) => {
      const [from, to] = [previous, value].map((length) =>
        length === undefined ? undefined : sizeOf(length),
      );
      if (from === to) return;
      if (from !== undefined) await add(tx, sizes.count, from, -1);
      if (to !== undefined) await add(tx, sizes.count, to, 1);
    },
    soon,
  );
  const sums = observer(
    "sums",
    accounts.balance,
    async (tx, { row, value, previous }) => {
      const shard = shardOf(row);
      tx.set(totals.sum, shard, ((await tx.get(totals.sum, shard)) ?? 0) + (value ?? 0) - (previous ?? 0));
    },
    soon,
  );
  const firsts = observer(
    "firsts",
    documents.contents,
    async (tx, { value, previous }) => {
      if (previous !== undefined) await add(tx, initials.count, initialOf(previous), -1);
      if (value !== undefined) await add(tx, initials.count, initialOf(value), 1);
    },
    { ...soon, version },
  );
  return late ? [lengths, counts, histogram, sums, firsts] : [lengths, counts, histogram, sums];
}

/** The observers whose version can be raised. Each is backfilled after its version was raised. */
export const versioned = ({ late }: Generation) =>
  late ? ["lengths", "counts", "firsts"] : ["lengths", "counts"];
