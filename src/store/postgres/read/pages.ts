import { equalBytes, successor } from "../../bytes.js";
import { type CellView, type Columns, type Position, parts, type RawCell, type RowView } from "../../cell.js";
import type { RangePage, RangeRead, RawPage, RawRead, RowPage, RowRead } from "../../row-store.js";
import { bytesOf, int4Array, int8Text, maxInt8 } from "../wire/arrays.js";
import type { Row } from "../wire/client.js";
import { type Connections, type Statement, statement } from "../wire/connections.js";
import { afterAllKeys, chooseColumns } from "./column-choice.js";
import { type CutCells, cutCells, versionsOf, viewOf } from "./page-cells.js";

/** The most versions and bytes of a page. A page has one cell at least, however large. */
const pageVersions = 1_000;
const pageBytes = 1 << 20;
/**
 * A page of few rows asks for a version of each wanted column of a row, or for this many if it wants
 * ranges of columns, and for some more: a cell has up to three versions in the answer. The server
 * walks over all old versions of what it answers, so it must not answer for more rows than are wanted.
 */
const versionsForEach = 8;
const moreVersions = 16;
/**
 * The most entries of the index that a page walks over. It may show few of them: a collection looks
 * for locks where there are write records only. Without it, one statement could take longer than the
 * deadline, each time.
 */
const pageEntries = 20_000;
const unlimited = 2 ** 31 - 1;
const noBytes = new Uint8Array(0);
const fullPage = { versions: pageVersions, bytes: pageBytes, entries: pageEntries };
const everything: Size = { versions: unlimited, bytes: maxInt8, entries: null };

interface Bounds {
  readonly start?: Position | undefined;
  readonly end?: Position | undefined;
  readonly columns: Columns;
}

/** The most versions and bytes of one answer. It may walk over that many entries: null is no limit. */
interface Size {
  readonly versions: number;
  readonly bytes: number | string;
  readonly entries: number | null;
}

/** Reads pages of rows with the schema's page functions. */
export class PageReader {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #statements = new Map<string, Statement>();

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#schema = schema;
  }

  /** A page of one row's columns. */
  async row(table: number, { row, columns, at, limit }: RowRead): Promise<RowPage> {
    const { cells, next } = await this.#views(table, rowBounds(row, columns), at, sizeFor(limit, columns));
    const views: CellView[] = [];
    for (const cell of cells) {
      const view = viewOf(cell, at);
      if (view === undefined) continue;
      if (views.length === limit) return { row, cells: views, next: view.column };
      views.push(view);
    }
    return { row, cells: views, next: next?.column };
  }

  /** A page of rows, ascending or descending. */
  range(table: number, read: RangeRead): Promise<RangePage> {
    return read.reverse ? this.#descending(table, read) : this.#ascending(table, read);
  }

  async #ascending(table: number, read: RangeRead): Promise<RangePage> {
    const { at, limit } = read;
    const cut = await this.#views(table, read, at, sizeFor(limit, read.columns));
    return cutRows(viewRows(cut, at), limit, cut.next);
  }

  /**
   * First finds the rows of the page in descending order, then reads them whole, because a reversed
   * page divides no row.
   */
  async #descending(table: number, { start, end, columns, at, limit }: RangeRead): Promise<RangePage> {
    const { choice, values } = parameters(table, { start, end, columns });
    const wanted = Math.min(limit ?? pageVersions, pageVersions);
    const limits = [timestampText(at), pageVersions, wanted, pageBytes, pageEntries];
    const found = await this.#ask(`rows_below_${choice}`, [...values, ...limits]);
    if (found.length === 0) return { rows: [], next: undefined };
    const [first, last] = [found[0]!, found.at(-1)!].map(([row]) => bytesOf(row!)) as [Buffer, Buffer];
    const isCut = found.at(-1)![1] === "f";
    const within: Bounds = {
      start: start !== undefined && equalBytes(start.row, last) ? start : { row: last },
      end: end !== undefined && equalBytes(end.row, first) ? end : { row: successor(first) },
      columns,
    };
    const cut = await this.#views(table, within, at, everything);
    return { rows: viewRows(cut, at).reverse(), next: isCut ? { row: last } : undefined };
  }

  /** A page of rows with all versions. */
  async raw(table: number, read: RawRead): Promise<RawPage> {
    const { choice, values } = parameters(table, read);
    const wanted = int4Array(parts.flatMap((part, index) => (read.parts.includes(part) ? [index] : [])));
    const since = int8Text(read.from ?? 0);
    const until = int8Text(read.to ?? Number.POSITIVE_INFINITY);
    const versions = Math.min(read.versions ?? unlimited, unlimited);
    // All versions of one cell are on one page, so a search for the page's end would only cost time.
    const entries = isOneCell(read) ? null : pageEntries;
    const limits = [wanted, since, until, versions, pageVersions, pageBytes, entries];
    const cut = cutCells(await this.#ask(`raw_page_${choice}`, [...values, ...limits]));
    const rows = groupRows<RawCell>(cut, (cell) => ({
      column: bytesOf(cell.column),
      versions: versionsOf(cell),
    }));
    return cutRows(rows, read.limit, cut.next);
  }

  async #views(
    table: number,
    bounds: Bounds,
    at: number,
    { versions, bytes, entries }: Size,
  ): Promise<CutCells> {
    const { choice, values } = parameters(table, bounds);
    const limits = [timestampText(at), versions, bytes, entries];
    return cutCells(await this.#ask(`view_page_${choice}`, [...values, ...limits]));
  }

  #ask(name: string, values: readonly unknown[]): Promise<readonly Row[]> {
    let query = this.#statements.get(name);
    if (query === undefined) {
      const list = values.map((_, index) => `$${index + 1}`).join(", ");
      query = statement(`select * from ${this.#schema}.${name}(${list})`);
      this.#statements.set(name, query);
    }
    return this.#connections.repeat(query, values, "read rows");
  }
}

function sizeFor(limit: number | undefined, columns: Columns): Size {
  if (limit === undefined) return fullPage;
  const each = columns.every((column) => "exact" in column) ? columns.length : versionsForEach;
  return { ...fullPage, versions: Math.min(pageVersions, limit * each + moreVersions) };
}

/** The bounds of one row. If only one range of columns is wanted, they begin and end with it. */
function rowBounds(row: Uint8Array, columns: Columns): Bounds {
  const only = columns[0]!;
  const end = { row: successor(row) };
  if (columns.length > 1 || "exact" in only) return { start: { row }, end, columns };
  const start = { row, column: only.start };
  return { start, end: only.end === undefined ? end : { row, column: only.end }, columns };
}

/** Whether only one cell is within the bounds. */
function isOneCell({ start, end }: Bounds): boolean {
  if (start?.column === undefined || end?.column === undefined) return false;
  return equalBytes(start.row, end.row) && equalBytes(successor(start.column), end.column);
}

/** The parameters that all page functions have in common. */
function parameters(table: number, { start, end, columns }: Bounds) {
  const { choice, values } = chooseColumns(columns);
  const low = [start?.row ?? noBytes, start?.column ?? noBytes];
  const high = [end?.row ?? afterAllKeys, end?.column ?? noBytes];
  return { choice, values: [table, ...low, ...high, ...values] };
}

function timestampText(at: number): string {
  return int8Text(Math.floor(at));
}

function viewRows(cut: CutCells, at: number): RowView[] {
  return groupRows(cut, (cell) => viewOf(cell, at));
}

/** Puts the cells of a page into rows. Leaves out cells for which `make` returns nothing. */
function groupRows<Cell>(
  { cells }: CutCells,
  make: (cell: CutCells["cells"][number]) => Cell | undefined,
): { readonly row: Uint8Array; readonly cells: Cell[] }[] {
  const rows: { readonly row: Uint8Array; readonly cells: Cell[] }[] = [];
  let name: string | undefined;
  for (const each of cells) {
    const cell = make(each);
    if (cell === undefined) continue;
    if (name !== each.row) rows.push({ row: bytesOf(each.row), cells: [] });
    name = each.row;
    rows.at(-1)!.cells.push(cell);
  }
  return rows;
}

/** A page of at most `limit` rows. */
function cutRows<R extends { readonly row: Uint8Array }>(
  rows: R[],
  limit: number | undefined,
  next: Position | undefined,
): { readonly rows: readonly R[]; readonly next: Position | undefined } {
  if (limit === undefined || rows.length <= limit) return { rows, next };
  return { rows: rows.slice(0, limit), next: { row: rows[limit]!.row } };
}
