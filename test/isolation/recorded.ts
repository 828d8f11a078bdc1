import {
  ConflictError,
  type Database,
  int,
  type Transaction,
  type TransactionOptions,
  table,
} from "percolatordb";
import { checkHistory, HistoryRecorder, type OpenWithHooksOptions } from "percolatordb/testing";
import { expect } from "vitest";
import { type Variant, withTwo } from "../support/databases.js";

/** The table of the cases. At first rows `1` and `2` have the values 10 and 20. */
export const numbers = table("numbers", { value: int() });

/** A database whose transactions are recorded, each as that of a separate client. */
export interface RecordedCase {
  readonly db: Database;
  readonly recorder: HistoryRecorder;
  begin(options?: TransactionOptions): Promise<Transaction>;
}

/**
 * Runs a case on an empty database with rows 1 and 2. Afterwards checks the record against the
 * store. If there are two processes, transactions begin in them alternately.
 */
export async function withCase(
  variant: Variant,
  use: (recorded: RecordedCase) => Promise<void>,
  options: OpenWithHooksOptions = {},
): Promise<void> {
  await withTwo(variant, { tables: [numbers], collectEveryMs: 0, ...options }, async (db, other) => {
    const recorder = new HistoryRecorder();
    let clients = 0;
    const begin = (given?: TransactionOptions) => {
      const client = recorder.client(`${++clients}`);
      return client.begin(clients % 2 === 0 ? other : db, given);
    };
    await recorder.client("setup").transact(db, (tx) => {
      tx.set(numbers.value, "1", 10);
      tx.set(numbers.value, "2", 20);
    });
    // Waits until all locks are rolled forward. Otherwise a case could begin with a conflict.
    await db.idle();
    await use({ db, recorder, begin });
    await recorder.audit(db);
    const { anomalies, committed } = checkHistory(recorder.history());
    expect(anomalies).toEqual([]);
    expect(committed).toBeGreaterThan(0);
    expect(await db.check()).toEqual([]);
  });
}

/** Returns the outcome of a commit. Throws errors other than conflicts. */
export async function outcomeOf(commit: Promise<void>): Promise<"committed" | "conflict"> {
  try {
    await commit;
    return "committed";
  } catch (error) {
    if (error instanceof ConflictError) return "conflict";
    throw error;
  }
}

/** Returns the value of a row. */
export function valueAt(tx: Pick<Transaction, "get">, row: string): Promise<number | undefined> {
  return tx.get(numbers.value, row);
}

/** Returns the rows whose value satisfies a predicate, as a query would. */
export async function rowsWhere(
  tx: Pick<Transaction, "scan">,
  predicate: (value: number) => boolean = () => true,
): Promise<Readonly<Record<string, number>>> {
  const found: Record<string, number> = {};
  for await (const { row, value } of tx.scan(numbers.value)) if (predicate(value)) found[row] = value;
  return found;
}

/** Returns the committed rows. */
export async function committedRows(db: Database): Promise<Readonly<Record<string, number>>> {
  await using snapshot = await db.snapshot();
  return await rowsWhere(snapshot as unknown as Transaction);
}
