import { throwIfAborted } from "../../environment/index.js";
import { type CellView, type Columns, type Position, pages } from "../../store/index.js";
import type { CellAddress } from "../cell/address.js";
import { columnsFrom } from "../cell/column-parts.js";
import type { TransactionContext } from "../context.js";
import type { ReadRange } from "../read/read-recorder.js";
import { conflict } from "./conflict.js";
import type { CommitRequest } from "./request.js";

/** Number of rows that are read in parallel. It bounds the requests under way. */
const rowsAtOnce = 256;

/**
 * Validates a serializable transaction before it commits at C (protocol §3.6). Reads every row and
 * range of its read set again. Throws a conflict if a row or range shows another transaction's lock
 * or a commit in (S, C]. Locks above C do not count, because their transactions commit above C.
 */
export async function validateReads(
  context: TransactionContext,
  request: CommitRequest,
  commit: number,
): Promise<void> {
  const reads = request.reads!;
  const rows = reads.rows();
  for (let from = 0; from < rows.length; from += rowsAtOnce) {
    const some = rows.slice(from, from + rowsAtOnce);
    throwIfAborted(request.signal, validating(request));
    await Promise.all(some.map((read) => validateRow(context, request, read, commit)));
  }
  for (const range of reads.ranges) await validateRange(context, request, range, commit);
}

async function validateRow(
  context: TransactionContext,
  request: CommitRequest,
  read: { readonly table: string; readonly row: Uint8Array; readonly columns: Columns },
  commit: number,
): Promise<void> {
  const { table, row } = read;
  const { store } = context;
  const options = { signal: request.signal };
  const readFrom = (next?: Uint8Array) => {
    const columns = next === undefined ? read.columns : columnsFrom(read.columns, next);
    return store.readRow({ table, row, columns, at: commit }, options);
  };
  for await (const { cells } of pages(readFrom)) {
    throwIfAborted(request.signal, validating(request));
    for (const cell of cells)
      validateCell(context, request, { table, row, column: cell.column }, cell, commit);
    if (context.yielding.isDue(Math.max(1, cells.length))) await context.yielding.turn();
  }
}

async function validateRange(
  context: TransactionContext,
  request: CommitRequest,
  range: ReadRange,
  commit: number,
): Promise<void> {
  const { table, columns } = range;
  const end = range.end === undefined ? undefined : { row: range.end };
  const options = { signal: request.signal };
  const read = (start?: Position) =>
    context.store.readRange({ table, columns, start, end, at: commit }, options);
  const first = range.start === undefined ? undefined : { row: range.start };
  for await (const page of pages(read, first)) {
    throwIfAborted(request.signal, validating(request));
    for (const { row, cells } of page.rows) {
      for (const cell of cells)
        validateCell(context, request, { table, row, column: cell.column }, cell, commit);
    }
    if (context.yielding.isDueAfterPage(page.rows.length)) await context.yielding.turn();
  }
}

function validating({ start }: CommitRequest): string {
  return `Committing the transaction that started at ${start}`;
}

function validateCell(
  context: TransactionContext,
  request: CommitRequest,
  address: CellAddress,
  cell: CellView,
  commit: number,
): void {
  if (cell.lock !== undefined && cell.lock.timestamp !== request.start) {
    throw conflict(
      context,
      request,
      address,
      cell.lock.timestamp,
      `has locked a cell that it read, since ${cell.lock.timestamp}`,
    );
  }
  const write = cell.write;
  if (write !== undefined && write.timestamp > request.start && write.timestamp <= commit) {
    throw conflict(
      context,
      request,
      address,
      write.timestamp,
      `changed a cell that it read, at ${write.timestamp}`,
    );
  }
}
