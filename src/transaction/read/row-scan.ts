import type { Columns, Position, RangePage, RangeRead } from "../../store/index.js";
import type { WriteBuffer } from "../buffer.js";
import type { CommittedCell, CommittedRow } from "../cell/committed.js";
import { isSelected, mergeRows } from "./merge.js";
import type { Page } from "./paged-iterator.js";
import type { ReadRange, ReadRecorder } from "./read-recorder.js";
import type { SnapshotReader } from "./reader.js";
import type { ZeroCopyColumn } from "./zero-copy-reader.js";

/** A scan of rows. `T` is the type of its items. */
export interface RowScanRequest<T> {
  readonly table: string;
  readonly start: Uint8Array | undefined;
  /** Exclusive. */
  readonly end: Uint8Array | undefined;
  readonly columns: Columns;
  readonly reverse: boolean;
  /** How many rows the caller wants. Infinity for all. The scan may return more. */
  readonly limit: number;
  /**
   * How to decode rows and values that the store lends, that is, returns without a copy
   * (`ZeroCopyStore`). Present if the scan reads one column and its codec allows it.
   */
  readonly lent?: ZeroCopyColumn<T> | undefined;
}

/** Rows of the first page if the scan has no limit. Few, because the caller may stop early. */
const firstPage = 32;
/**
 * 250 rows: larger pages leave the processor's caches before they are used. With pages of 1,000
 * rows, a scan of rows of 1 KB took 50% longer.
 */
const largestPage = 250;
const firstRow = new Uint8Array(0);

/**
 * Pages of a snapshot's rows in scan order, for `View.scan`. It merges the transaction's own
 * writes, and drops deleted cells and empty rows.
 *
 * The first page has as many rows as the caller wants, or 32 without a limit. Later pages grow, so
 * that a scan that ends early has not read much.
 */
export class RowScan<T> {
  readonly #request: RowScanRequest<T>;
  readonly #reader: SnapshotReader;
  readonly #buffer: WriteBuffer | undefined;
  readonly #recorded: { -readonly [K in keyof ReadRange]: ReadRange[K] };
  /** A row whose remaining cells come with the next page. */
  #partial: { readonly row: Uint8Array; readonly cells: CommittedCell[] } | undefined;
  #start: Position | undefined;
  #end: Position | undefined;
  #limit: number;
  #finished = false;
  #pages = 0;
  #shown = 0;
  /** True if the next page begins with a cell that cannot be lent. */
  #stopped = false;
  /** The next page, if it was already requested. */
  #ahead: { readonly read: Omit<RangeRead, "at">; readonly page: Promise<RangePage> } | undefined;

  constructor(
    reader: SnapshotReader,
    buffer: WriteBuffer | undefined,
    recorder: ReadRecorder | undefined,
    request: RowScanRequest<T>,
  ) {
    this.#reader = reader;
    this.#buffer = buffer;
    this.#request = request;
    this.#limit = Math.min(
      largestPage,
      request.limit === Number.POSITIVE_INFINITY ? firstPage : request.limit,
    );
    this.#start = request.start === undefined ? undefined : { row: request.start };
    this.#end = request.end === undefined ? undefined : { row: request.end };
    const { table, start, end, columns } = request;
    // The recorded range starts empty and grows with each page.
    this.#recorded = {
      table,
      start: request.reverse ? end : start,
      end: request.reverse ? end : start,
      columns,
    };
    recorder?.range(this.#recorded);
  }

  /** The next rows, in order. Undefined at the end. A page before the end may be empty. */
  async next(): Promise<Page<CommittedRow, T> | undefined> {
    if (this.#finished) return undefined;
    return (await this.#nextLent()) ?? { rows: await this.#nextRows() };
  }

  /** The next page from lent bytes, or undefined if it cannot be lent. */
  async #nextLent(): Promise<Page<CommittedRow, T> | undefined> {
    const { table, reverse, lent } = this.#request;
    const reader = this.#reader.lent;
    const isStopped = this.#stopped;
    this.#stopped = false;
    if (lent === undefined || reader === undefined || isStopped) return undefined;
    if (this.#hasOwn() || this.#partial !== undefined || this.#ahead !== undefined) return undefined;
    const read = { table, start: this.#start, end: this.#end, reverse, limit: this.#limit };
    const page = await reader.items(read, lent);
    // The transaction wrote something during the wait. The page must therefore be read again and
    // merged with the writes.
    if (page === undefined || this.#hasOwn()) return undefined;
    this.#stopped = page.stopped;
    if (!page.stopped) this.#grow();
    this.#advance(page.next);
    return page;
  }

  #hasOwn(): boolean {
    return this.#buffer?.hasWrites === true;
  }

  async #nextRows(): Promise<readonly CommittedRow[]> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    const page = await this.#reader.range(ahead?.read ?? this.#nextRead(), ahead?.page);
    const whole = this.#joinDivided(page.rows, page.next);
    const merged = this.#overlay(whole, page.next);
    this.#advance(page.next);
    const rows = withoutDeleted(merged);
    this.#pages++;
    this.#shown += rows.length;
    this.#lookAhead();
    return rows;
  }

  #nextRead(): Omit<RangeRead, "at"> {
    const { table, columns, reverse } = this.#request;
    const limit = this.#limit;
    this.#grow();
    return { table, start: this.#start, end: this.#end, columns, reverse, limit };
  }

  #grow(): void {
    this.#limit = Math.min(largestPage, this.#limit * 4);
  }

  /**
   * Requests the next page while the caller works on this one, if the caller has read two pages: it
   * will then probably read more.
   */
  #lookAhead(): void {
    if (this.#finished || this.#pages < 2 || this.#shown >= this.#request.limit) return;
    const read = this.#nextRead();
    const page = this.#reader.rangeAhead(read);
    if (page !== undefined) this.#ahead = { read, page };
  }

  /**
   * Joins a row that was divided between pages. Holds the last row back if more of its cells may
   * follow.
   */
  #joinDivided(rows: readonly CommittedRow[], next: Position | undefined): readonly CommittedRow[] {
    let joined = rows;
    const held = this.#partial;
    this.#partial = undefined;
    if (held !== undefined) {
      const first = rows[0];
      const goesOn = first !== undefined && Buffer.compare(first.row, held.row) === 0;
      if (goesOn) for (const cell of first.cells) held.cells.push(cell);
      joined = [held, ...(goesOn ? rows.slice(1) : rows)];
    }
    const last = joined.at(-1);
    if (next?.column !== undefined && last !== undefined && Buffer.compare(last.row, next.row) === 0) {
      // A row of many pages is copied once, not with each page.
      this.#partial = held !== undefined && last === held ? held : { row: last.row, cells: [...last.cells] };
      return joined.slice(0, -1);
    }
    return joined;
  }

  /** Merges the transaction's own writes to the rows that this page covers. */
  #overlay(rows: readonly CommittedRow[], next: Position | undefined): readonly CommittedRow[] {
    if (this.#buffer === undefined || !this.#hasOwn()) return rows;
    const { reverse, columns } = this.#request;
    const from = reverse
      ? next === undefined
        ? this.#request.start
        : this.#boundary(next)
      : this.#covered();
    const to = reverse ? this.#covered() : next === undefined ? this.#request.end : this.#boundary(next);
    const writes = this.#buffer.between(
      this.#request.table,
      { row: from ?? firstRow },
      to === undefined ? undefined : { row: to },
    );
    const selected = writes.filter((write) => isSelected(columns, write.column));
    return mergeRows(rows, selected, reverse);
  }

  /** The row up to which earlier pages have covered the scan. */
  #covered(): Uint8Array | undefined {
    return this.#request.reverse ? this.#recorded.start : this.#recorded.end;
  }

  /** The row at which the next page starts. */
  #boundary(next: Position): Uint8Array {
    return next.row;
  }

  #advance(next: Position | undefined): void {
    const { reverse, start, end } = this.#request;
    if (reverse) {
      this.#end = next;
      this.#recorded.start = next === undefined ? start : next.row;
    } else {
      this.#start = next;
      this.#recorded.end = next === undefined ? end : next.row;
    }
    if (next === undefined) this.#finished = true;
  }
}

function withoutDeleted(rows: readonly CommittedRow[]): readonly CommittedRow[] {
  const isDeleted = (cell: CommittedCell) => cell.isDeleted;
  if (!rows.some((row) => row.cells.length === 0 || row.cells.some(isDeleted))) return rows;
  return rows
    .map((row) => ({ row: row.row, cells: row.cells.filter((cell) => !isDeleted(cell)) }))
    .filter((row) => row.cells.length > 0);
}
