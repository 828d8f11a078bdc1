import { compareBytes } from "../../bytes.js";
import type { Columns, Position } from "../../cell.js";
import { firstWanted } from "../../columns.js";
import type { RowFilter } from "../protos/codec.js";
import { decodeRow, encodeRow } from "../table/names.js";
import type { KnownTable } from "../table/tables.js";
import { encodeFilter } from "../wire/rpc.js";
import type { ReadCell, ReadRow } from "./chunks.js";
import { after, clipColumns, divideRange, type Piece } from "./clip.js";
import { type BranchLimit, coveringColumns, fittingColumns } from "./filter.js";
import type { Rows, RowsEnd } from "./rows.js";
import type { Shown } from "./views.js";

/** Limits of one page. */
export const pageLimits = Object.freeze({
  cells: 1_000,
  bytes: 1 << 20,
  /** If a row has more bytes than this, the read stops and asks again for fewer of its cells. */
  rowBytes: 4 << 20,
});

/** One kind of read: the filter that it needs, and what it makes of the received cells. */
export interface Kind<Cell> {
  /** How often the filter names each column. */
  readonly branches: number;
  filter(columns: Columns, limit: BranchLimit): RowFilter;
  show(cells: readonly ReadCell[], columns: Columns, limit: BranchLimit): Shown<Cell>;
}

export interface Source {
  readonly rows: Rows;
  readonly table: KnownTable;
  readonly signal: AbortSignal | undefined;
}

export interface ShownRow<Cell> {
  readonly row: Uint8Array;
  readonly cells: readonly Cell[];
}

export interface Page<Cell> {
  readonly rows: readonly ShownRow<Cell>[];
  readonly next: Position | undefined;
}

export interface RangeRequest {
  readonly start: Position | undefined;
  readonly end: Position | undefined;
  readonly columns: Columns;
  readonly limit: number | undefined;
}

/**
 * If a read names at most this many columns, each by its exact name, a page needs no limit on their
 * cells.
 */
const fewColumns = 16;

function isFew(columns: Columns): boolean {
  return columns.length <= fewColumns && columns.every((range) => "exact" in range);
}

/** Reads a page of one row: as many columns as fit, and the column to continue with. */
export async function readColumns<Cell>(
  { rows, table, signal }: Source,
  kind: Kind<Cell>,
  row: Uint8Array,
  columns: Columns,
  most: number = pageLimits.cells,
): Promise<{ readonly cells: readonly Cell[]; readonly next: Uint8Array | undefined }> {
  const asked = columns.slice(0, fittingColumns(columns, kind.branches));
  const key = encodeRow(row);
  let limit: BranchLimit =
    isFew(asked) && most >= asked.length ? undefined : Math.min(most, pageLimits.cells);
  let rowBytes = limit === undefined ? Number.POSITIVE_INFINITY : pageLimits.rowBytes;
  for (;;) {
    let cells: readonly ReadCell[] = [];
    const filter = encodeFilter(kind.filter(asked, limit));
    const end = await rows.read({ table, rows: { rowKeys: [key] }, filter, rowBytes, signal }, (read) => {
      cells = read.cells;
      return true;
    });
    if (end.how === "wide") {
      limit = Math.max(1, limit! >> 3);
      if (limit === 1) rowBytes = Number.POSITIVE_INFINITY;
      continue;
    }
    const shown = kind.show(cells, asked, limit);
    if (limit !== undefined && shown.from !== undefined && stands(asked, shown.from)) {
      // Not even one column is complete.
      limit = limit >= 1 << 20 ? undefined : limit * 8;
      rowBytes = Number.POSITIVE_INFINITY;
      continue;
    }
    return { cells: shown.cells, next: nextColumn(columns, asked, shown.from) };
  }
}

/** Whether a read that continues at `column` would request all of `asked` again. */
function stands(asked: Columns, column: Uint8Array): boolean {
  const first = asked[0]!;
  return compareBytes(column, "exact" in first ? first.exact : first.start) <= 0;
}

function nextColumn(columns: Columns, asked: Columns, from: Uint8Array | undefined): Uint8Array | undefined {
  if (from !== undefined) return firstWanted(columns, from);
  const rest = columns[asked.length];
  return rest && ("exact" in rest ? rest.exact : rest.start);
}

/** Reads a page of a range in ascending order. */
export async function readPages<Cell>(
  source: Source,
  kind: Kind<Cell>,
  request: RangeRequest,
): Promise<Page<Cell>> {
  const pieces = divideRange(request.start, request.end);
  for (const [index, piece] of pieces.entries()) {
    const page = await readPiece(source, kind, request, piece);
    const rest = pieces[index + 1];
    const next = page.next ?? (rest === undefined ? undefined : beginning(rest));
    if (page.rows.length > 0 || page.next !== undefined) return { rows: page.rows, next };
  }
  return { rows: [], next: undefined };
}

function beginning(piece: Piece): Position {
  return "row" in piece ? { row: piece.row } : { row: piece.low! };
}

async function readPiece<Cell>(
  source: Source,
  kind: Kind<Cell>,
  request: RangeRequest,
  piece: Piece,
): Promise<Page<Cell>> {
  if ("low" in piece) return await readWholeRows(source, kind, request, piece.low, piece.high);
  const columns = clipColumns(request.columns, piece.start, piece.end);
  if (columns.length === 0) return { rows: [], next: undefined };
  return await readOneRow(source, kind, piece.row, columns);
}

async function readOneRow<Cell>(
  source: Source,
  kind: Kind<Cell>,
  row: Uint8Array,
  columns: Columns,
): Promise<Page<Cell>> {
  const { cells, next } = await readColumns(source, kind, row, columns);
  return {
    rows: cells.length === 0 ? [] : [{ row, cells }],
    next: next === undefined ? undefined : { row, column: next },
  };
}

/**
 * Reads rows from `low` to before `high`. A row that is too wide for the page is divided, and ends
 * the page.
 */
async function readWholeRows<Cell>(
  source: Source,
  kind: Kind<Cell>,
  request: RangeRequest,
  low: Uint8Array | undefined,
  high: Uint8Array | undefined,
): Promise<Page<Cell>> {
  const columns = coveringColumns(request.columns, kind.branches);
  const branchLimit = isFew(columns) ? undefined : pageLimits.cells;
  const most = Math.min(request.limit ?? Number.POSITIVE_INFINITY, pageLimits.cells);
  const collected = new Collector(kind, request.columns, branchLimit);
  const end = await source.rows.read(
    {
      table: source.table,
      rows: { rowRanges: [rowRange(low, high)] },
      filter: encodeFilter(kind.filter(columns, branchLimit)),
      limit: most,
      rowBytes: pageLimits.rowBytes,
      signal: source.signal,
    },
    (row) => collected.take(row),
  );
  if (collected.divided !== undefined) {
    const { row, column } = collected.divided;
    const going = firstWanted(request.columns, column);
    const next = going === undefined ? following(row, high) : { row, column: going };
    if (collected.rows.length > 0 || going === undefined) return { rows: collected.rows, next };
    return await onlyRow(source, kind, request.columns, row, high);
  }
  if (end.how === "wide" && collected.rows.length === 0) {
    return await onlyRow(source, kind, request.columns, decodeRow(end.openKey!), high);
  }
  return { rows: collected.rows, next: goOn(end, collected.count >= most, high) };
}

/** Reads the page if its first row alone is too wide for it. */
async function onlyRow<Cell>(
  source: Source,
  kind: Kind<Cell>,
  columns: Columns,
  row: Uint8Array,
  high: Uint8Array | undefined,
): Promise<Page<Cell>> {
  const page = await readOneRow(source, kind, row, columns);
  return { rows: page.rows, next: page.next ?? following(row, high) };
}

function goOn(end: RowsEnd, full: boolean, high: Uint8Array | undefined): Position | undefined {
  if (end.how === "complete" && !full) return undefined;
  if (end.how === "wide") return { row: decodeRow(end.openKey!) };
  return following(decodeRow(end.lastKey!), high);
}

/** The position after `row`. Undefined if the range ends there. */
export function following(row: Uint8Array, high: Uint8Array | undefined): Position | undefined {
  const next = after(row);
  return high !== undefined && compareBytes(next, high) >= 0 ? undefined : { row: next };
}

export function rowRange(low: Uint8Array | undefined, high: Uint8Array | undefined) {
  return {
    startKeyClosed: low === undefined || low.length === 0 ? undefined : encodeRow(low),
    endKeyOpen: high === undefined ? undefined : encodeRow(high),
  };
}

/** Collects rows until the page is full. */
class Collector<Cell> {
  readonly rows: ShownRow<Cell>[] = [];
  /** Rows received, whether the page shows them or not. */
  count = 0;
  /** The row and the column at which the page ends, if it ends within a row. */
  divided: { readonly row: Uint8Array; readonly column: Uint8Array } | undefined;
  readonly #kind: Kind<Cell>;
  readonly #columns: Columns;
  readonly #limit: BranchLimit;
  #cells = 0;
  #bytes = 0;

  constructor(kind: Kind<Cell>, columns: Columns, limit: BranchLimit) {
    this.#kind = kind;
    this.#columns = columns;
    this.#limit = limit;
  }

  take(read: ReadRow): boolean {
    const row = decodeRow(read.key);
    const { cells, bytes, from } = this.#kind.show(read.cells, this.#columns, this.#limit);
    this.count++;
    if (cells.length > 0) this.rows.push({ row, cells });
    this.#cells += cells.length;
    this.#bytes += bytes + row.length;
    if (from !== undefined) this.divided = { row, column: from };
    return from === undefined && this.#cells < pageLimits.cells && this.#bytes < pageLimits.bytes;
  }
}
