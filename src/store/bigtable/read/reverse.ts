import { compareBytes } from "../../bytes.js";
import type { Columns, Position } from "../../cell.js";
import { decodeRow } from "../table/names.js";
import { encodeFilter } from "../wire/rpc.js";
import { clipColumns, divideRange, type Piece } from "./clip.js";
import { coveringColumns } from "./filter.js";
import {
  type Kind,
  type Page,
  pageLimits,
  type RangeRequest,
  rowRange,
  type ShownRow,
  type Source,
} from "./pages.js";

/** Rows of one chunk if the service cannot scan in reverse. */
const chunkRows = 100;

/**
 * Reads a page of a range in descending order, in whole rows. `native` says that the service can
 * scan in reverse. If it cannot, rows are read forwards in bounded chunks, and the last chunk is
 * found by halving the range.
 */
export async function readPagesReversed<Cell>(
  source: Source,
  kind: Kind<Cell>,
  request: RangeRequest,
  native: boolean,
): Promise<Page<Cell>> {
  const pieces = [...divideRange(request.start, request.end)].reverse();
  for (const [index, piece] of pieces.entries()) {
    const page =
      "row" in piece
        ? await readPart(source, kind, request.columns, piece)
        : await (native ? readBackwards : readLastChunk)(source, kind, request, piece.low, piece.high);
    const rest = pieces[index + 1];
    const next = page.next ?? (rest === undefined ? undefined : endOf(rest));
    if (page.rows.length > 0 || page.next !== undefined) return { rows: page.rows, next };
  }
  return { rows: [], next: undefined };
}

/** The exclusive end of the rest. */
function endOf(piece: Piece): Position {
  if ("low" in piece) return { row: piece.high! };
  return piece.end === undefined
    ? { row: Buffer.concat([piece.row, Buffer.alloc(1)]) }
    : { row: piece.row, column: piece.end };
}

/** The columns of the row in which the range begins or ends. */
async function readPart<Cell>(
  source: Source,
  kind: Kind<Cell>,
  columns: Columns,
  piece: Extract<Piece, { row: Uint8Array }>,
): Promise<Page<Cell>> {
  const clipped = clipColumns(columns, piece.start, piece.end);
  if (clipped.length === 0) return { rows: [], next: undefined };
  const { rows } = await forwards(
    source,
    kind,
    clipped,
    piece.row,
    Buffer.concat([piece.row, Buffer.alloc(1)]),
    1,
  );
  return { rows, next: undefined };
}

async function readBackwards<Cell>(
  source: Source,
  kind: Kind<Cell>,
  request: RangeRequest,
  low: Uint8Array | undefined,
  high: Uint8Array | undefined,
): Promise<Page<Cell>> {
  const most = Math.min(request.limit ?? pageLimits.cells, pageLimits.cells);
  const columns = coveringColumns(request.columns, kind.branches);
  const rows: ShownRow<Cell>[] = [];
  let count = 0;
  let size = 0;
  const end = await source.rows.read(
    {
      table: source.table,
      rows: { rowRanges: [rowRange(low, high)] },
      filter: encodeFilter(kind.filter(columns, undefined)),
      limit: most,
      reversed: true,
      signal: source.signal,
    },
    (read) => {
      const { cells, bytes } = kind.show(read.cells, request.columns, undefined);
      count++;
      size += bytes / pageLimits.bytes + cells.length / pageLimits.cells;
      if (cells.length > 0) rows.push({ row: decodeRow(read.key), cells });
      return size < 1;
    },
  );
  if (end.how === "complete" && count < most) return { rows, next: undefined };
  const last = decodeRow(end.lastKey!);
  const done = low !== undefined && compareBytes(last, low) <= 0;
  return { rows, next: done ? undefined : { row: last } };
}

/**
 * Finds the last rows by halving. A chunk that reaches the end has them. If a chunk does not, the
 * search continues after it. An empty half is cut off the end.
 */
async function readLastChunk<Cell>(
  source: Source,
  kind: Kind<Cell>,
  request: RangeRequest,
  low: Uint8Array | undefined,
  high: Uint8Array | undefined,
): Promise<Page<Cell>> {
  const first = low ?? new Uint8Array(0);
  let from = first;
  let to = high;
  let at = first;
  /** The rows right before `from`. */
  let before: readonly ShownRow<Cell>[] = [];
  let beforeFrom = first;
  for (;;) {
    const chunk = await forwards(source, kind, request.columns, at, to, chunkRows);
    if (chunk.next !== undefined) {
      [before, beforeFrom, from] = [chunk.rows, at, chunk.next];
    } else if (chunk.rows.length > 0) {
      return lastOf(chunk.rows, request.limit, at, first);
    } else if (compareBytes(at, from) <= 0) {
      return lastOf(before, request.limit, beforeFrom, first);
    } else {
      to = at;
    }
    at = between(from, to);
  }
}

/** The last rows from `at` on, as a page. */
function lastOf<Cell>(
  rows: readonly ShownRow<Cell>[],
  limit: number | undefined,
  at: Uint8Array,
  first: Uint8Array,
): Page<Cell> {
  const last = rows.slice(-(limit ?? chunkRows));
  const rest = last.length < rows.length ? last[0]!.row : at;
  return { rows: [...last].reverse(), next: compareBytes(rest, first) > 0 ? { row: rest } : undefined };
}

/** At most that many whole rows. `next` is set if there may be more. */
async function forwards<Cell>(
  source: Source,
  kind: Kind<Cell>,
  wanted: Columns,
  low: Uint8Array,
  high: Uint8Array | undefined,
  most: number,
): Promise<{ readonly rows: readonly ShownRow<Cell>[]; readonly next: Uint8Array | undefined }> {
  const columns = coveringColumns(wanted, kind.branches);
  const rows: ShownRow<Cell>[] = [];
  let count = 0;
  let size = 0;
  const end = await source.rows.read(
    {
      table: source.table,
      rows: { rowRanges: [rowRange(low, high)] },
      filter: encodeFilter(kind.filter(columns, undefined)),
      limit: most,
      signal: source.signal,
    },
    (read) => {
      const { cells, bytes } = kind.show(read.cells, wanted, undefined);
      count++;
      size += bytes / pageLimits.bytes + cells.length / pageLimits.cells;
      if (cells.length > 0) rows.push({ row: decodeRow(read.key), cells });
      return size < 1;
    },
  );
  if (end.how === "complete" && count < most) return { rows, next: undefined };
  const next = Buffer.concat([decodeRow(end.lastKey!), Buffer.alloc(1)]);
  return { rows, next: high !== undefined && compareBytes(next, high) >= 0 ? undefined : next };
}

/**
 * A key about halfway from `low` to `high`, at most a byte longer than `low`. It is `low` itself if
 * they are close together.
 */
export function between(low: Uint8Array, high: Uint8Array | undefined): Uint8Array {
  const digits = low.length + 1;
  const number = (bytes: Uint8Array) => {
    const padded = Buffer.alloc(digits);
    padded.set(bytes.subarray(0, digits));
    return BigInt(`0x${padded.toString("hex")}`);
  };
  const top = high === undefined ? 1n << BigInt(8 * digits) : number(high);
  const middle = (number(low) + top) >> 1n;
  const key = Buffer.from(middle.toString(16).padStart(2 * digits, "0"), "hex");
  let length = digits;
  while (length > 0 && key[length - 1] === 0) length--;
  return length === 0 || compareBytes(key.subarray(0, length), low) <= 0 ? low : key.subarray(0, length);
}
