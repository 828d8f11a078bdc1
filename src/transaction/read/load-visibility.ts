import { currentTimestamp } from "../../oracle/index.js";
import { equalBytes } from "../../store/index.js";
import type { CellAddress } from "../cell/address.js";
import type { CommittedCell } from "../cell/committed.js";
import { loadStateCell, publishedState } from "../cell/known-loads.js";
import type { TransactionContext } from "../context.js";

/** Reads one cell in a snapshot. */
export type ReadCommitted = (
  context: TransactionContext,
  cell: CellAddress,
  timestamp: number,
) => Promise<CommittedCell | undefined>;

/**
 * Whether the cells of a bulk load are visible at a timestamp: whether the load was published at or
 * below it. The answer comes from the load's state, read at the same timestamp. It is therefore as
 * consistent as any other read.
 */
export async function isLoadVisible(
  context: TransactionContext,
  start: number,
  timestamp: number,
  read: ReadCommitted,
): Promise<boolean> {
  const state = await read(context, loadStateCell(start), timestamp);
  const value = state?.value;
  if (state === undefined || value === undefined || !equalBytes(value, publishedState)) return false;
  context.loads.add(start, state.commit);
  return true;
}

/** The timestamp at which a bulk load was published. Undefined if it is not. */
export async function publicationOf(
  context: TransactionContext,
  start: number,
  read: ReadCommitted,
): Promise<number | undefined> {
  const known = context.loads.publishedAt(start);
  if (known !== undefined) return known;
  await isLoadVisible(context, start, await currentTimestamp(context), read);
  return context.loads.publishedAt(start);
}
