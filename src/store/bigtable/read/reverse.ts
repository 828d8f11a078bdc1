import { compareBytes } from "../../bytes.js";
import type { Columns, Position } from "../../cell.js";
import { decodeRow } from "../table/names.js";
import { encodeFilter } from "../wire/rpc.js";
import { after, clipColumns, divideRange, type Piece } from "./clip.js";
import { coveringColumns } from "./filter.js";
import {
  following,
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
 * Reads a page of a range in descending order, in whole rows. `native`: whether the service can
 * scan in reverse. If the service cannot, this function reads forwards in bounded chunks, and finds
 * the last chunk by halving the range.
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

/** The exclusive end of a piece. */
function endOf(piece: Piece): Position {
  if ("low" in piece) return { row: piece.high! };
  return piece.end === undefined ? { row: after(piece.row) } : { row: piece.row, column: piece.end };
}

/** Reads the columns of a row in which the range begins or ends. */
async function readPart<Cell>(
  source: Source,
  kind: Kind<Cell>,
  columns: Columns,
  piece: Extract<Piece, { row: Uint8Array }>,
): Promise<Page<Cell>> {
  const clipped = clipColumns(columns, piece.start, piece.end);
  if (clipped.length === 0) return { rows: [], next: undefined };
  const range = { low: piece.row, high: after(piece.row), limit: 1 };
  const { rows } = await readStretch(source, kind, clipped, range);
  return { rows, next: undefined };
}

async function readBackwards<Cell>(
  source: Source,
  kind: Kind<Cell>,
  request: RangeRequest,
  low: Uint8Array | undefined,
  high: Uint8Array | undefined,
): Promise<Page<Cell>> {
  const limit = Math.min(request.limit ?? pageLimits.cells, pageLimits.cells);
  const range = { low, high, limit, reversed: true };
  const { rows, last } = await readStretch(source, kind, request.columns, range);
  const isOver = last === undefined || (low !== undefined && compareBytes(last, low) <= 0);
  return { rows, next: isOver ? undefined : { row: last } };
}

/**
 * Finds the last rows by halving the range. If a chunk reaches the end of the range, it contains
 * the last rows. If a chunk stops before the end, the search continues after the chunk. If the
 * upper half of the range is empty, the search drops that half.
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
    const { rows, last } = await readStretch(source, kind, request.columns, {
      low: at,
      high: to,
      limit: chunkRows,
    });
    const next = last && following(last, to);
    if (next !== undefined) {
      [before, beforeFrom, from] = [rows, at, next.row];
    } else if (rows.length > 0) {
      return lastOf(rows, request.limit, at, first);
    } else if (compareBytes(at, from) <= 0) {
      return lastOf(before, request.limit, beforeFrom, first);
    } else {
      to = at;
    }
    at = between(from, to);
  }
}

/**
 * Makes a page of the last of `rows`. The rows begin at `at`, and the whole range begins at
 * `first`.
 */
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

/** A range of rows to read from one of its ends, and the most rows to read. */
interface StretchRange {
  readonly low: Uint8Array | undefined;
  readonly high: Uint8Array | undefined;
  readonly limit: number;
  readonly reversed?: boolean;
}

/** Whole rows that were read, and the row read last if there may be more after it. */
interface Stretch<Cell> {
  readonly rows: readonly ShownRow<Cell>[];
  readonly last: Uint8Array | undefined;
}

async function readStretch<Cell>(
  source: Source,
  kind: Kind<Cell>,
  wanted: Columns,
  { low, high, limit, reversed }: StretchRange,
): Promise<Stretch<Cell>> {
  const columns = coveringColumns(wanted, kind.branches);
  const rows: ShownRow<Cell>[] = [];
  let count = 0;
  let size = 0;
  const end = await source.rows.read(
    {
      table: source.table,
      rows: { rowRanges: [rowRange(low, high)] },
      filter: encodeFilter(kind.filter(columns, undefined)),
      limit,
      reversed,
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
  const isOver = end.how === "complete" && count < limit;
  return { rows, last: isOver ? undefined : decodeRow(end.lastKey!) };
}

/**
 * A key about halfway from `low` to `high`, at most a byte longer than `low`. It is `low` itself if
 * the two keys are close together.
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
