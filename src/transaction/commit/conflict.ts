import { ConflictError } from "../../errors/index.js";
import { type CellAddress, showCell, showColumn } from "../cell/address.js";
import { type MetLock, metLock, pushesPerTransaction } from "../cell/met-lock.js";
import type { TransactionContext } from "../context.js";
import type { CommitRequest } from "./request.js";

/**
 * Finds the transaction that blocks a write, after the store refused the write's guards. Resolves
 * the lock that it finds. Returns undefined if nothing blocks the write any more: the other
 * transaction was rolled back, or it committed before this one's start. The caller may then try the
 * write once more under the same guards. If this function returns an error, the transaction must
 * end: only a transaction with a new start timestamp can see what the other one wrote.
 *
 * `ownLocks` is the start timestamp of this transaction's own locks. A one-phase commit passes
 * undefined, because it has none: a two-phase transaction's start may be the same.
 */
export async function explainConflict(
  context: TransactionContext,
  request: CommitRequest,
  cell: CellAddress,
  ownLocks: number | undefined,
): Promise<ConflictError | undefined> {
  const { start, signal } = request;
  let { lock, write } = await newestOf(context, cell, ownLocks);
  if (lock !== undefined) {
    const outcome = await context.resolver.resolve(context, lock, {
      start,
      role: "writer",
      signal,
      passed: new Set(),
      pushesLeft: pushesPerTransaction,
      attempt: 0,
    });
    if (outcome === "gone") ({ lock, write } = await newestOf(context, cell, ownLocks));
  }
  if (lock !== undefined)
    return conflict(context, request, cell, lock.start, `holds a lock on it since ${lock.start}`);
  if (write !== undefined && write > start)
    return conflict(context, request, cell, write, `committed at ${write}`);
  return undefined;
}

/** The error if the blocking transaction can no longer be found. */
export function unexplainedConflict(
  context: TransactionContext,
  request: CommitRequest,
  cell: CellAddress,
): ConflictError {
  return conflict(context, request, cell, undefined, "blocked it");
}

/**
 * Reads another transaction's lock on a cell, and the timestamp of the cell's newest commit. Does
 * not read older versions, because a cell may have many and the caller needs none of them.
 */
async function newestOf(
  context: TransactionContext,
  { table, row, column }: CellAddress,
  own: number | undefined,
): Promise<{ readonly lock: MetLock | undefined; readonly write: number | undefined }> {
  const read = { table, row, columns: [{ exact: column }], at: Number.POSITIVE_INFINITY };
  const answer = context.store.readRow(read);
  const [found] = (answer instanceof Promise ? await answer : answer).cells;
  const isOther = found?.lock !== undefined && found.lock.timestamp !== own;
  return {
    lock: isOther ? metLock({ table, row, column }, found.lock) : undefined,
    write: found?.write?.timestamp,
  };
}

/** For each conflict error, its cell in bytes. The error's own fields hold text. */
const places = new WeakMap<ConflictError, CellAddress>();

/** The cell that a transaction conflicted on. Undefined if the conflict was not on one cell. */
export function conflictCell(error: ConflictError): CellAddress | undefined {
  return places.get(error);
}

/**
 * Builds a conflict error on `cell`, and remembers the cell for {@link conflictCell}. `how`
 * completes "another transaction ...".
 */
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
      "written. Run it again from the start (`db.transact` does so by itself).",
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
