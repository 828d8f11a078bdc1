/**
 * Derived data for the documents and accounts of the crash tests. It has few cells, which many
 * transactions write at once.
 */
import { int, observer, table } from "percolatordb";
import { accounts, documents, log, wordsOf } from "../crash/app.js";

/**
 * For each word, the number of documents that begin with it. The observer adds and subtracts 1, so
 * a change that is handled twice, or not at all, leaves a wrong count.
 */
export const beginnings = table("beginnings", { count: int() });
/** Each account's balance, computed as the sum of its changes. */
export const mirrors = table("mirrors", { sum: int() });

export const tables = { documents, accounts, log, beginnings, mirrors };

const soon = { attempts: 1_000, backoff: { initialMs: 5, maximumMs: 200 } } as const;

const lengths = observer(
  "lengths",
  documents.contents,
  async (tx, { row, value }) => {
    if (value === undefined) tx.delete(documents.length, row);
    else tx.set(documents.length, row, value.length);
    tx.set(documents.runs, row, ((await tx.get(documents.runs, row)) ?? 0) + 1);
  },
  soon,
);

const counting = observer(
  "counting",
  documents.contents,
  async (tx, { value, previous }) => {
    const [from, to] = [wordsOf(previous)[0], wordsOf(value)[0]];
    if (from === to) return;
    for (const [word, difference] of [
      [from, -1],
      [to, 1],
    ] as const) {
      if (word === undefined) continue;
      const count = ((await tx.get(beginnings.count, word)) ?? 0) + difference;
      if (count === 0) tx.delete(beginnings.count, word);
      else tx.set(beginnings.count, word, count);
    }
  },
  soon,
);

const mirroring = observer(
  "mirroring",
  accounts.balance,
  async (tx, { row, value, previous }) => {
    tx.set(mirrors.sum, row, ((await tx.get(mirrors.sum, row)) ?? 0) + (value ?? 0) - (previous ?? 0));
  },
  soon,
);

export const observers = [lengths, counting, mirroring];

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables: Object.values(tables), observers };
