import { ConflictError } from "../errors/index.js";
import { type CellAddress, showCell, showColumn, showRow } from "./address.js";
import type { TransactionContext } from "./context.js";
import { readCells } from "./raw.js";
import type { CommitRequest } from "./request.js";
import { metLock, pushesPerTransaction } from "./resolve.js";

/**
 * Finds out who stands in the way of a write, deals with a lock that was left behind, and makes the error that says
 * so. The transaction is lost in any case: only running it again sees what the winner wrote.
 */
export async function explainConflict(
  context: TransactionContext,
  request: CommitRequest,
  cell: CellAddress,
): Promise<ConflictError> {
  const { start, signal } = request;
  const versions = await readCells(context.store, cell, ["lock", "write"], 0, Number.POSITIVE_INFINITY);
  const lock = versions.find((version) => version.part === "lock" && version.timestamp !== start);
  if (lock !== undefined) {
    const met = metLock(cell, lock);
    await context.resolver.resolve(context, met, {
      start,
      role: "writer",
      signal,
      passed: new Set(),
      pushesLeft: pushesPerTransaction,
      attempt: 0,
    });
    return conflict(request, cell, met.start, `holds a lock on it since ${met.start}`);
  }
  const write = versions.find((version) => version.part === "write" && version.timestamp > start);
  const winner = write?.timestamp;
  return conflict(
    request,
    cell,
    winner,
    winner === undefined ? "stood in its way" : `committed at ${winner}`,
  );
}

/** Where errors were met, by bytes; their own fields are words. */
const places = new WeakMap<ConflictError, CellAddress>();

/** The cell that a transaction conflicted on; undefined where that is not one cell. */
export function conflictCell(error: ConflictError): CellAddress | undefined {
  return places.get(error);
}

export function conflict(
  request: CommitRequest,
  cell: CellAddress,
  winner: number | undefined,
  how: string,
): ConflictError {
  const name = request.label === undefined ? "The transaction" : `The transaction "${request.label}"`;
  const error = new ConflictError(
    `${name} that started at ${request.start} conflicts on ${showCell(cell)}: another transaction ${how}. Nothing was ` +
      "written; run it again from the start (`db.transact` does so by itself).",
    {
      table: cell.table,
      row: showRow(cell.row),
      column: showColumn(cell.column),
      startTimestamp: request.start,
      ...(winner === undefined ? {} : { winnerTimestamp: winner }),
    },
  );
  if (cell.table !== "") places.set(error, cell);
  return error;
}
