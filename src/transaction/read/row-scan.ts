import type { Columns, Position, RangePage, RangeRead } from "../../store/index.js";
import type { BufferedWrite, WriteBuffer } from "../buffer.js";
import type { CommittedCell, CommittedRow } from "../cell/committed.js";
import { isSelected, mergeRows } from "./merge.js";
import type { Page } from "./paged-iterator.js";
import type { ReadRange, ReadRecorder } from "./read-recorder.js";
import type { SnapshotReader } from "./reader.js";
import type { ZeroCopyColumn } from "./zero-copy-reader.js";

/** `T`: what an item is made to be. */
export interface RowScanRequest<T> {
  readonly table: string;
  readonly start: Uint8Array | undefined;
  /** Exclusive. */
  readonly end: Uint8Array | undefined;
  readonly columns: Columns;
  readonly reverse: boolean;
  /** How many rows are wanted; Infinity for all. The scan may give more. */
  readonly limit: number;
  /** The column, where it is but one and a store may lend it. */
  readonly lent?: ZeroCopyColumn<T> | undefined;
}

const firstPage = 32;
/** Larger pages leave the processor's caches before they are used: 1,000 rows of 1 KB took half as long again. */
const largestPage = 250;

/**
 * Pages of rows of a snapshot in order, own writes laid over, deleted cells left out and rows without cells with them.
 * The first page has as many rows as are wanted, or few where nobody says; pages grow then, so that a scan that is left
 * early has not read much.
 */
export class RowScan<T> {
  readonly #request: RowScanRequest<T>;
  readonly #reader: SnapshotReader;
  readonly #buffer: WriteBuffer | undefined;
  readonly #recorded: { -readonly [K in keyof ReadRange]: ReadRange[K] };
  /** A row whose cells are still coming: it was divided over pages. */
  #partial: CommittedRow | undefined;
  #start: Position | undefined;
  #end: Position | undefined;
  #limit: number;
  #finished = false;
  #pages = 0;
  #shown = 0;
  /** The next page begins with what is not lent. */
  #stopped = false;
  /** The page after the last that was taken, where it was asked for already. */
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
    // Nothing is read yet: the range grows with the pages.
    this.#recorded = {
      table,
      start: request.reverse ? end : start,
      end: request.reverse ? end : start,
      columns,
    };
    recorder?.range(this.#recorded);
  }

  /** The next rows, in order; undefined at the end. May be empty before it. */
  async next(): Promise<Page<CommittedRow, T> | undefined> {
    if (this.#finished) return undefined;
    return (await this.#nextLent()) ?? { rows: await this.#nextRows() };
  }

  /** Undefined where the page cannot be lent. */
  async #nextLent(): Promise<Page<CommittedRow, T> | undefined> {
    const { table, reverse, lent } = this.#request;
    const reader = this.#reader.lent;
    const isStopped = this.#stopped;
    this.#stopped = false;
    if (lent === undefined || reader === undefined || isStopped) return undefined;
    if (this.#hasOwn() || this.#partial !== undefined || this.#ahead !== undefined) return undefined;
    const read = { table, start: this.#start, end: this.#end, reverse, limit: this.#limit };
    const page = await reader.items(read, lent);
    // Its rows are not decided: something may have been written while it was waited for.
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

  /** Whoever has come for a second page is likely to come for the next: it is on its way while this one is worked on. */
  #lookAhead(): void {
    if (this.#finished || this.#pages < 2 || this.#shown >= this.#request.limit) return;
    const read = this.#nextRead();
    const page = this.#reader.rangeAhead(read);
    if (page !== undefined) this.#ahead = { read, page };
  }

  /** Holds a row back while more of its cells may follow. */
  #joinDivided(rows: readonly CommittedRow[], next: Position | undefined): readonly CommittedRow[] {
    let joined = rows;
    if (this.#partial !== undefined) {
      const held = this.#partial;
      const first = rows[0];
      this.#partial = undefined;
      if (first !== undefined && Buffer.compare(first.row, held.row) === 0) {
        joined = [{ row: held.row, cells: [...held.cells, ...first.cells] }, ...rows.slice(1)];
      } else {
        joined = [held, ...rows];
      }
    }
    const last = joined.at(-1);
    if (next?.column !== undefined && last !== undefined && Buffer.compare(last.row, next.row) === 0) {
      this.#partial = last;
      return joined.slice(0, -1);
    }
    return joined;
  }

  /** Own writes among the rows that this page has decided. */
  #overlay(rows: readonly CommittedRow[], next: Position | undefined): readonly CommittedRow[] {
    if (this.#buffer === undefined || !this.#hasOwn()) return rows;
    const { reverse, columns } = this.#request;
    const from = reverse
      ? next === undefined
        ? this.#request.start
        : this.#boundary(next)
      : this.#covered();
    const to = reverse ? this.#covered() : next === undefined ? this.#request.end : this.#boundary(next);
    const writes = between(this.#buffer.ofTable(this.#request.table), from, to).filter((write) =>
      isSelected(columns, write.column),
    );
    return mergeRows(rows, writes, reverse);
  }

  /** The row up to which everything before this page was answered. */
  #covered(): Uint8Array | undefined {
    return this.#request.reverse ? this.#recorded.start : this.#recorded.end;
  }

  /** The row at which the next page goes on. */
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

/** Writes, ascending, with rows from `from` (inclusive) to `to` (exclusive). */
function between(
  writes: readonly BufferedWrite[],
  from: Uint8Array | undefined,
  to: Uint8Array | undefined,
): readonly BufferedWrite[] {
  return writes.filter(
    (write) =>
      (from === undefined || Buffer.compare(write.row, from) >= 0) &&
      (to === undefined || Buffer.compare(write.row, to) < 0),
  );
}

function withoutDeleted(rows: readonly CommittedRow[]): readonly CommittedRow[] {
  const isDeleted = (cell: CommittedCell) => cell.isDeleted;
  if (!rows.some((row) => row.cells.length === 0 || row.cells.some(isDeleted))) return rows;
  return rows
    .map((row) => ({ row: row.row, cells: row.cells.filter((cell) => !isDeleted(cell)) }))
    .filter((row) => row.cells.length > 0);
}
