import { backoffDelay, sleep } from "../../environment/index.js";
import { StoreError } from "../../errors/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import type { Mutation } from "../../store/index.js";
import type { CellAddress } from "../cell/address.js";
import { rewriteGuards } from "../cell/guards.js";
import { type NewestValue, newestValue } from "../cell/raw.js";
import { encodeWrite } from "../cell/records.js";
import type { TransactionContext } from "../context.js";
import { publicationOf } from "../read/load-visibility.js";
import { readCommitted } from "../read/settle.js";

/**
 * How often a rewrite is tried again because the cell has changed or no answer came. With at most 200 ms
 * after a missing answer this takes up to 20 s, longer than a short outage.
 */
const maxAttempts = 100;
const repeating = { initialMs: 2, maximumMs: 200 };

/**
 * Replaces the bytes of a cell's newest committed value by other bytes of the same meaning (protocol
 * §5.16). The version keeps its commit timestamp and its transaction. So nothing has changed for
 * snapshots, transactions, observers, feeds and acknowledgments, and the rewrite conflicts with
 * nothing. If a transaction commits the cell at the same time, its value stays.
 *
 * `encode` gets the stored bytes, and returns the new ones, or undefined to leave them. It may be
 * called several times. Returns whether the cell was rewritten.
 */
export async function rewriteCell(
  context: TransactionContext,
  cell: CellAddress,
  encode: (stored: Uint8Array) => Uint8Array | undefined,
  signal?: AbortSignal,
): Promise<boolean> {
  const { environment } = context;
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const found = await newestPut(context, cell);
    const bytes = found === undefined ? undefined : encode(found.value);
    if (found === undefined || bytes === undefined) return false;
    const { column } = cell;
    const answer = await context.store.mutate({
      table: cell.table,
      row: cell.row,
      guards: rewriteGuards(column, found.commit, found.write),
      mutations: replacement(context, column, found, bytes),
    });
    if (answer === "applied") return true;
    // Rejected: the cell has changed. Unknown: the next read shows whether the rewrite happened.
    if (answer === "unknown")
      await sleep(environment, backoffDelay(environment, repeating, attempt), signal, "Rewriting a value");
  }
  throw new StoreError(
    `A cell of table ${cell.table} could not be rewritten in ${maxAttempts} attempts, because it kept changing, or the store gave no answer. Nothing is lost: ` +
      "run the migration again.",
  );
}

/** The newest committed version of a cell. Undefined if there is none, or if it is a delete. */
async function newestPut(context: TransactionContext, cell: CellAddress): Promise<NewestValue | undefined> {
  // Resolves the locks of a transaction that has committed, so that its write record is there.
  await readCommitted(context, cell, await currentTimestamp(context));
  const newest = await newestValue(context.store, cell);
  if (newest === undefined) return undefined;
  const { record } = newest;
  // A row of a load in progress is not committed yet.
  if (record.loaded && (await publicationOf(context, record.start, readCommitted)) === undefined)
    return undefined;
  return newest;
}

/**
 * Puts the new bytes where the old ones are. A value in `c:data` stays there, even if it is short
 * now: a late request of the commit may put its write record once more, which says where the value
 * is.
 */
function replacement(
  { store }: TransactionContext,
  column: Uint8Array,
  { commit, record }: NewestValue,
  bytes: Uint8Array,
): readonly Mutation[] {
  const data: Mutation = { type: "put", column, part: "data", timestamp: record.start, value: bytes };
  if (record.value === undefined) return [data];
  // A one-phase commit keeps a value of any length in its write record.
  const isInline = record.onePhase || bytes.length <= store.capabilities.inlineBytes;
  const value = encodeWrite({ ...record, value: isInline ? bytes : undefined });
  const write: Mutation = { type: "put", column, part: "write", timestamp: commit, value };
  return isInline ? [write] : [data, write];
}
