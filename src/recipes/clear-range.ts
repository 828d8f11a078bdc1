import type { AnyTable, Database, KeyOf, KeyPrefix, Transaction } from "../index.js";
import { wholeOption } from "./options.js";

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
  /** The most rows of one transaction. From 1 to 100,000; default: 1,000. */
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
 * piece. Rows that are added meanwhile may stay. Can be repeated where it was interrupted. Deletes are changes as any other: observers
 * of the columns are due on them. Resolves to the number of rows.
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
  const { signal, onProgress } = options;
  const batch = wholeOption("batch", options.batch ?? 1_000, 1, 100_000);
  let rows = 0;
  // The next batch begins at the last row of this one: so no scan meets more than one that was deleted before it.
  let { start } = range;
  for (;;) {
    const from = start;
    const deleteSome = (tx: Transaction) => deleteRows(tx, table, { ...range, start: from }, batch);
    const deleted = await db.transact(deleteSome, { signal, label: "clear range" });
    rows += deleted.length;
    if (deleted.length > 0) onProgress?.(rows);
    if (deleted.length < batch) break;
    start = deleted.at(-1);
  }
  if (options.collect === true) await db.collect({ signal });
  return rows;
}

async function deleteRows<T extends AnyTable>(
  tx: Transaction,
  table: T,
  range: ClearedRange<KeyOf<T>>,
  limit: number,
): Promise<readonly KeyOf<T>[]> {
  const rows: KeyOf<T>[] = [];
  for await (const { row } of tx.scan(table, { ...range, limit })) rows.push(row);
  for (const row of rows) await tx.deleteRow(table, row);
  return rows;
}
