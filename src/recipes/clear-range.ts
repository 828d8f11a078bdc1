import {
  type AnyTable,
  type Database,
  type KeyOf,
  type KeyPrefix,
  PercolatorError,
  type Transaction,
} from "../index.js";
import { checkKeepers, joinKeepers } from "./lookup/kept-column.js";
import { checkOptions, wholeOption } from "./options.js";
import { checkDatabase } from "./view.js";

/** The rows to delete: those that begin with `prefix`, or those from `start` to before `end`. */
export interface ClearedRange<K> {
  readonly prefix?: KeyPrefix<K> | undefined;
  /** First key, inclusive, or the leading parts of a tuple. Default: the first key of the table. */
  readonly start?: K | KeyPrefix<K> | undefined;
  /** End of the range, exclusive, or the leading parts of a tuple. Default: none. */
  readonly end?: K | KeyPrefix<K> | undefined;
}

/** What deletes the cell of a row together with its entry. Unique constraints and exact indexes do. */
export interface RowLookup<K> {
  delete(tx: Transaction, row: K): Promise<void>;
}

/** The options of {@link clearRange}. Each has a default. */
export interface ClearOptions<K = never> {
  /**
   * Most rows that one transaction deletes. If a transaction cannot hold the deletes of so many
   * rows, it deletes fewer. From 1 to 100,000. Default: 1,000.
   */
  readonly batch?: number | undefined;
  /**
   * Whether to free the space at once, with `db.collect()`, instead of at the next garbage
   * collection. Default: false.
   */
  readonly collect?: boolean | undefined;
  /**
   * The unique constraints and exact indexes on columns of the table, or a `columnWriter` of a column that
   * has several. Their entries are deleted with the rows. Default: none.
   */
  readonly lookups?: readonly RowLookup<K>[] | undefined;
  /** Called after each transaction with the number of rows deleted so far. Default: none. */
  readonly onProgress?: ((rows: number) => void) | undefined;
  /** Stops the deletion when it is aborted. Rows deleted so far stay deleted. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Deletes the rows of a range, in as many transactions as needed. Resolves to the number of rows
 * deleted.
 *
 * Other transactions see the rows disappear batch by batch. A row with more cells than one
 * transaction can delete disappears over several transactions. Rows that are added in the meantime
 * may stay. If the call is interrupted, repeat it.
 *
 * Each delete is a change, so observers of the columns become due. Snapshots of the past see the
 * deleted rows until garbage collection removes them, after the retention.
 *
 * @throws SchemaError if a column has a unique constraint or exact index that is not among `lookups`.
 * Rows of earlier transactions stay deleted.
 * @throws whatever the transactions throw.
 * @throws AbortedError if the signal is aborted.
 *
 * @example
 * await clearRange(db, visits, { prefix: ["2024-05-01"] }, { signal });
 */
export async function clearRange<T extends AnyTable>(
  db: Database,
  table: T,
  range: ClearedRange<KeyOf<T>>,
  options: ClearOptions<KeyOf<T>> = {},
): Promise<number> {
  checkDatabase("clearRange", db);
  checkOptions("clearRange", range, { prefix: "any", start: "any", end: "any" });
  checkOptions("clearRange", options, {
    batch: "any",
    collect: "any",
    lookups: "any",
    onProgress: "function if given",
    signal: "any",
  });
  const { signal, onProgress } = options;
  const lookups = joinKeepers<RowLookup<KeyOf<T>>, KeyOf<T>>(options.lookups ?? []);
  const batch = wholeOption("batch", options.batch ?? 1_000, 1, 100_000);
  await checkKeepers(db, lookups);
  let rows = 0;
  // Each batch begins at the last row of the batch before it, because that row may have cells left.
  // If it began at the start of the range, its scan would pass all rows deleted so far.
  let { start } = range;
  let most = batch;
  for (;;) {
    const [from, limit] = [start, most];
    const fits: Fits = { rows: 0 };
    const deleteSome = (tx: Transaction) =>
      deleteRows(tx, table, { ...range, start: from }, { limit, lookups }, fits);
    try {
      const deleted = await db.transact(deleteSome, { signal, label: "clear range" });
      if (fits.tooMany !== undefined && fits.tx?.commitTimestamp === undefined) throw fits.tooMany;
      rows += fits.rows;
      if (fits.rows > 0) await onProgress?.(rows);
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

/** What the last run of {@link deleteRows} could delete. */
interface Fits {
  tx?: Transaction;
  /** Count of rows deleted whole. */
  rows: number;
  /** The error for writes beyond the limit, if the rows did not fit. */
  tooMany?: PercolatorError | undefined;
}

/**
 * Deletes up to `limit` rows. If a single row is too large for a transaction, deletes as many of
 * its cells as fit.
 */
async function deleteRows<T extends AnyTable>(
  tx: Transaction,
  table: T,
  range: ClearedRange<KeyOf<T>>,
  { limit, lookups }: { readonly limit: number; readonly lookups: readonly RowLookup<KeyOf<T>>[] },
  fits: Fits,
): Promise<readonly KeyOf<T>[]> {
  const rows: KeyOf<T>[] = [];
  for await (const { row } of tx.scan(table, { ...range, limit })) rows.push(row);
  Object.assign(fits, { tx, rows: 0, tooMany: undefined });
  for (const row of rows) {
    try {
      for (const lookup of lookups) await lookup.delete(tx, row);
      await tx.deleteRow(table, row);
      fits.rows++;
    } catch (error) {
      if (!(error instanceof PercolatorError && error.code === "LIMIT_EXCEEDED")) throw error;
      fits.tooMany = error;
      if (limit > 1) throw error;
    }
  }
  return rows;
}
