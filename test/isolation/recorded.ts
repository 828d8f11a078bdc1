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

/** The table of the hand-driven cases: rows `1` and `2` hold 10 and 20 at first. */
export const numbers = table("numbers", { value: int() });

/** A database, and transactions on it that are recorded, each as a client of its own. */
export interface RecordedCase {
  readonly db: Database;
  readonly recorder: HistoryRecorder;
  begin(options?: TransactionOptions): Promise<Transaction>;
}

/**
 * Runs a case on an empty database with rows 1 and 2; afterwards, holds what was recorded against the store. Its transactions
 * begin in two processes by turns, where there are two.
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
    // Where a commit is answered before its locks are rolled forward, a case would begin with a conflict.
    await db.idle();
    await use({ db, recorder, begin });
    await recorder.audit(db);
    const { anomalies, committed } = checkHistory(recorder.history());
    expect(anomalies).toEqual([]);
    expect(committed).toBeGreaterThan(0);
    expect(await db.check()).toEqual([]);
  });
}

/** What a commit comes to. Any other error than a conflict is thrown. */
export async function outcomeOf(commit: Promise<void>): Promise<"committed" | "conflict"> {
  try {
    await commit;
    return "committed";
  } catch (error) {
    if (error instanceof ConflictError) return "conflict";
    throw error;
  }
}

/** The value of a row. */
export function valueAt(tx: Pick<Transaction, "get">, row: string): Promise<number | undefined> {
  return tx.get(numbers.value, row);
}

/** The rows whose value satisfies a predicate, as a query would find them. */
export async function rowsWhere(
  tx: Pick<Transaction, "scan">,
  predicate: (value: number) => boolean = () => true,
): Promise<Readonly<Record<string, number>>> {
  const found: Record<string, number> = {};
  for await (const { row, value } of tx.scan(numbers.value)) if (predicate(value)) found[row] = value;
  return found;
}

/** What is committed. */
export async function committedRows(db: Database): Promise<Readonly<Record<string, number>>> {
  await using snapshot = await db.snapshot();
  return await rowsWhere(snapshot as unknown as Transaction);
}
