import { StoreDamagedError } from "../../errors/index.js";
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
 *
 * A load takes the timestamp of its cells after it stored its state, and removes its cells before
 * its state. So a reader that sees a cell of a load also sees the load's state. If it does not, the
 * cell's record is damaged.
 */
export async function isLoadVisible(
  context: TransactionContext,
  start: number,
  timestamp: number,
  read: ReadCommitted,
): Promise<boolean> {
  const state = await read(context, loadStateCell(start), timestamp);
  if (state?.value === undefined) {
    // If collection dropped the state, this check throws.
    await context.safepoint.check(timestamp);
    throw new StoreDamagedError(
      `A stored cell names a bulk load that began at ${start}, but at ${timestamp} there is no such load. Run \`percolator check\`.`,
    );
  }
  return noticePublished(context, start, state);
}

/** The timestamp at which a bulk load was published. Undefined if it is not. */
export async function publicationOf(
  context: TransactionContext,
  start: number,
  read: ReadCommitted,
): Promise<number | undefined> {
  const known = context.loads.publishedAt(start);
  if (known !== undefined) return known;
  const state = await read(context, loadStateCell(start), await currentTimestamp(context));
  if (state !== undefined) noticePublished(context, start, state);
  return context.loads.publishedAt(start);
}

/** Remembers that a load is published, if it is. Returns whether it is. */
function noticePublished({ loads }: TransactionContext, start: number, state: CommittedCell): boolean {
  if (state.value === undefined || !equalBytes(state.value, publishedState)) return false;
  loads.add(start, state.commit);
  return true;
}
