import {
  type AnyTable,
  type Database,
  type KeyOf,
  type KeyPrefix,
  LimitExceededError,
  type Transaction,
} from "../index.js";
import { checkOptions, wholeOption } from "./options.js";

/** Which rows: those that begin with `prefix`, from `start`, up to `end`. */
export interface ClearedRange<K> {
  readonly prefix?: KeyPrefix<K> | undefined;
  /** First key, inclusive. Default: the first of the table. */
  readonly start?: K | undefined;
  /** Key after the last. Default: none. */
  readonly end?: K | undefined;
}

/** What {@link clearRange} takes. Everything has a default. */
export interface ClearOptions {
  /** The most rows of one transaction, which takes fewer where it could not hold them. From 1 to 100,000; default: 1,000. */
  readonly batch?: number | undefined;
  /** Whether space is given back at once, by `db.collect()`, rather than when it is collected next. Default: false. */
  readonly collect?: boolean | undefined;
  /** Told after each transaction how many rows have been deleted. */
  readonly onProgress?: ((rows: number) => void) | undefined;
  /** Ends the work when aborted; what was deleted by then stays deleted. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Deletes the rows of a range, in as many transactions as it takes: for rows that are needed for a while only. Others see it go piece by
 * piece, and a row of more cells than a transaction holds in pieces too. Rows that are added meanwhile may stay. Can be repeated
 * where it was interrupted. Deletes are changes as any other: observers of the columns are due on them. Resolves to the number of rows.
 *
 * What was deleted is there for snapshots of the past until it is collected, after the retention.
 *
 * @throws what the transactions throw; AbortedError when given up.
 *
 * @example
 * await clearRange(db, visits, { prefix: ["2024-05-01"] }, { signal });
 */
export async function clearRange<T extends AnyTable>(
  db: Database,
  table: T,
  range: ClearedRange<KeyOf<T>>,
  options: ClearOptions = {},
): Promise<number> {
  checkOptions("clearRange", range, { prefix: "any", start: "any", end: "any" });
  checkOptions("clearRange", options, {
    batch: "any",
    collect: "any",
    onProgress: "function if given",
    signal: "any",
  });
  const { signal, onProgress } = options;
  const batch = wholeOption("batch", options.batch ?? 1_000, 1, 100_000);
  let rows = 0;
  // The next batch begins at the last row of this one: so no scan meets more than one that was deleted before it.
  let { start } = range;
  let most = batch;
  for (;;) {
    const [from, limit] = [start, most];
    const fits: Fits = { rows: 0 };
    const deleteSome = (tx: Transaction) => deleteRows(tx, table, { ...range, start: from }, limit, fits);
    try {
      const deleted = await db.transact(deleteSome, { signal, label: "clear range" });
      if (fits.tooMany !== undefined && fits.tx?.commitTimestamp === undefined) throw fits.tooMany;
      rows += fits.rows;
      if (fits.rows > 0) onProgress?.(rows);
      if (deleted.length < limit) break;
      start = deleted.at(-1);
      if (fits.tooMany === undefined) most = Math.min(batch, limit * 2);
    } catch (error) {
      if (error !== fits.tooMany || limit === 1) throw error;
      most = Math.max(1, Math.min(fits.rows, Math.floor(limit / 2)));
    }
  }
  if (options.collect === true) await db.collect({ signal });
  return rows;
}

/** What a transaction could hold. */
interface Fits {
  tx?: Transaction;
  /** Rows that were deleted whole. */
  rows: number;
  /** What it said to more. */
  tooMany?: LimitExceededError | undefined;
}

/** Deletes rows: all, or where a single one is too much, some of its cells. */
async function deleteRows<T extends AnyTable>(
  tx: Transaction,
  table: T,
  range: ClearedRange<KeyOf<T>>,
  limit: number,
  fits: Fits,
): Promise<readonly KeyOf<T>[]> {
  const rows: KeyOf<T>[] = [];
  for await (const { row } of tx.scan(table, { ...range, limit })) rows.push(row);
  Object.assign(fits, { tx, rows: 0, tooMany: undefined });
  for (const row of rows) {
    try {
      await tx.deleteRow(table, row);
      fits.rows++;
    } catch (error) {
      if (!(error instanceof LimitExceededError)) throw error;
      fits.tooMany = error;
      if (limit > 1) throw error;
    }
  }
  return rows;
}
