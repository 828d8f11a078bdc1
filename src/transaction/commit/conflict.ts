import { ConflictError } from "../../errors/index.js";
import { type CellAddress, showCell, showColumn } from "../cell/address.js";
import { type MetLock, metLock, pushesPerTransaction } from "../cell/met-lock.js";
import type { TransactionContext } from "../context.js";
import type { CommitRequest } from "./request.js";

/**
 * Finds out who stands in the way of a write, and deals with a lock that was left behind. Undefined where nobody does any more: whoever
 * held the lock was rolled back, or committed before the transaction's start, so that the write may be offered once again, under
 * the same guards. Else the transaction is lost: only running it again sees what the winner wrote.
 */
export async function explainConflict(
  context: TransactionContext,
  request: CommitRequest,
  cell: CellAddress,
): Promise<ConflictError | undefined> {
  const { start, signal } = request;
  let { lock, write } = await newestOf(context, cell, start);
  if (lock !== undefined) {
    const outcome = await context.resolver.resolve(context, lock, {
      start,
      role: "writer",
      signal,
      passed: new Set(),
      pushesLeft: pushesPerTransaction,
      attempt: 0,
    });
    if (outcome === "gone") ({ lock, write } = await newestOf(context, cell, start));
  }
  if (lock !== undefined)
    return conflict(context, request, cell, lock.start, `holds a lock on it since ${lock.start}`);
  if (write !== undefined && write > start)
    return conflict(context, request, cell, write, `committed at ${write}`);
  return undefined;
}

/** The error of a transaction in whose way somebody stood who cannot be found any more. */
export function unexplainedConflict(
  context: TransactionContext,
  request: CommitRequest,
  cell: CellAddress,
): ConflictError {
  return conflict(context, request, cell, undefined, "stood in its way");
}

/** Another's lock on a cell, and when it was last committed: what is older is not looked at, there may be much of it. */
async function newestOf(
  context: TransactionContext,
  { table, row, column }: CellAddress,
  start: number,
): Promise<{ readonly lock: MetLock | undefined; readonly write: number | undefined }> {
  const read = { table, row, columns: [{ exact: column }], at: Number.POSITIVE_INFINITY };
  const answer = context.store.readRow(read);
  const [found] = (answer instanceof Promise ? await answer : answer).cells;
  const isOther = found?.lock !== undefined && found.lock.timestamp !== start;
  return {
    lock: isOther ? metLock({ table, row, column }, found.lock) : undefined,
    write: found?.write?.timestamp,
  };
}

/** Where errors were met, by bytes; their own fields are words. */
const places = new WeakMap<ConflictError, CellAddress>();

/** The cell that a transaction conflicted on; undefined where that is not one cell. */
export function conflictCell(error: ConflictError): CellAddress | undefined {
  return places.get(error);
}

export function conflict(
  { schemas }: TransactionContext,
  request: CommitRequest,
  cell: CellAddress,
  winner: number | undefined,
  how: string,
): ConflictError {
  const name = request.label === undefined ? "The transaction" : `The transaction "${request.label}"`;
  const error = new ConflictError(
    `${name} that started at ${request.start} conflicts on ${showCell(cell, schemas)}: another transaction ${how}. Nothing was ` +
      "written; run it again from the start (`db.transact` does so by itself).",
    {
      table: cell.table,
      row: schemas.showRow(cell.table, cell.row),
      column: showColumn(cell.column),
      startTimestamp: request.start,
      ...(winner === undefined ? {} : { winnerTimestamp: winner }),
    },
  );
  if (cell.table !== "") places.set(error, cell);
  return error;
}
