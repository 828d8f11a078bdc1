import { StoreDamagedError } from "../../errors/index.js";
import {
  type CellView,
  type Columns,
  isRemote,
  type MaybePromise,
  type Position,
  type RangePage,
  type RangeRead,
  type RowPage,
  type RowRead,
  type RowView,
  type StoreRequestOptions,
  type Version,
} from "../../store/index.js";
import { type CellAddress, showCell } from "../cell/address.js";
import { isWhole, ownData } from "../cell/cell-views.js";
import { columnsBelow, columnsFrom } from "../cell/column-parts.js";
import { CommittedCell, type CommittedRow, committed, keep } from "../cell/committed.js";
import { type MetLock, metLock, newResolution, type Resolution } from "../cell/met-lock.js";
import { readCells } from "../cell/raw.js";
import { asBuffer, decodeWrite, writeForm, writeHeaderBytes } from "../cell/records.js";
import type { TransactionContext } from "../context.js";
import { Prefetch } from "./prefetch.js";
import type { ReadPredictor } from "./read-predictor.js";
import type { ReaderOptions } from "./reader-options.js";
import { ZeroCopyReader } from "./zero-copy-reader.js";

const noOptions: ReaderOptions = Object.freeze({});

/** How often locks of one row are resolved before the read is a failure; each time either waits or makes progress. */
const maxResolutions = 1_000;
/** Columns of a row that are read again at once, after locks on some of them. */
const widestRow = 100_000;

/**
 * Reads committed cells as of one start timestamp, below any buffer (the paper's `Get`, figure 6). Resolves the locks
 * that it meets and checks the safepoint after it has read.
 */
export class SnapshotReader {
  readonly timestamp: number;
  readonly #context: TransactionContext;
  readonly #options: ReaderOptions;
  /** Made when a lock is first met. */
  #resolution: Resolution | undefined;
  readonly #request: StoreRequestOptions | undefined;
  /** Where a request costs, and it is known what else is likely to be read. */
  #ahead: Prefetch | undefined;
  #lent: ZeroCopyReader | undefined;

  constructor(context: TransactionContext, timestamp: number, options: ReaderOptions = noOptions) {
    this.#context = context;
    this.timestamp = timestamp;
    this.#options = options;
    this.#request = options.signal === undefined ? undefined : { signal: options.signal };
  }

  /** From now on fetches with the first read of a row what else is likely to be read of it. */
  predictBy(predictor: ReadPredictor): void {
    const { store } = this.#context;
    this.#ahead = new Prefetch(predictor, (read) => store.readRow(read, this.#request));
  }

  #readFirst(read: RowRead): MaybePromise<RowPage> {
    return this.#ahead === undefined
      ? this.#context.store.readRow(read, this.#request)
      : this.#ahead.read(read);
  }

  /** Reads by the shortest ways, where the store has them, and nobody is to be told of each read; else undefined. */
  get lent(): ZeroCopyReader | undefined {
    const { zeroCopy } = this.#context.store;
    if (zeroCopy === undefined || this.#ahead !== undefined || this.#options.trace !== undefined)
      return undefined;
    this.#lent ??= new ZeroCopyReader(this.#context, zeroCopy, this.timestamp, this.#options);
    return this.#lent;
  }

  /**
   * The bytes of one cell, by the shortest way that any store has: where it answers at once and nothing stands in the way,
   * `decode` is called with lent bytes before anything else happens. Undefined where the cell is not, or was deleted.
   */
  value<V>(
    table: string,
    row: Uint8Array,
    columns: Columns,
    decode: (bytes: Buffer, start: number, end: number) => V,
  ): MaybePromise<V | undefined> {
    const { trace } = this.#options;
    if (trace === undefined) return this.#value(table, row, columns, decode);
    const fromMs = trace.now();
    const value = this.#value(table, row, columns, decode);
    const tell = () => trace.readRow(table, row, columns, fromMs);
    if (value instanceof Promise) return value.finally(tell);
    tell();
    return value;
  }

  #value<V>(
    table: string,
    row: Uint8Array,
    columns: Columns,
    decode: (bytes: Buffer, start: number, end: number) => V,
  ): MaybePromise<V | undefined> {
    this.#options.recorder?.row(table, row, columns);
    const page = this.#readFirst({ table, row, columns, at: this.timestamp });
    if (!(page instanceof Promise)) {
      const cell = page.cells[0];
      const write = cell?.write;
      const isPlain = cell?.latest && cell.lock === undefined && this.#context.hooks.read === undefined;
      if (isPlain && write !== undefined && !this.#context.yielding.isDue()) {
        const bytes = asBuffer(write.value);
        const form = writeForm(bytes);
        if (form === "delete") return undefined;
        if (form === "value") return decode(bytes, writeHeaderBytes, bytes.length);
      }
    }
    return this.#slowValue(table, row, columns, page, decode);
  }

  async #slowValue<V>(
    table: string,
    row: Uint8Array,
    columns: Columns,
    page: MaybePromise<RowPage>,
    decode: (bytes: Buffer, start: number, end: number) => V,
  ): Promise<V | undefined> {
    // The page of a store that answers at once may be lent: it is used up before this function first yields.
    const found = page instanceof Promise ? await page : page;
    const cells = await this.#settleRow(table, row, columns, found);
    this.#tell(table, row, columns, cells);
    const [cell] = cells;
    if (this.#context.yielding.isDue()) await this.#context.yielding.turn();
    return cell?.source === undefined ? undefined : decode(cell.source, cell.from, cell.source.length);
  }

  /** Cells of one row, deleted ones included (`value` undefined); a page of them. Bytes are the caller's to keep. */
  async row(
    table: string,
    row: Uint8Array,
    columns: Columns,
    limit?: number,
  ): Promise<{ readonly cells: readonly CommittedCell[]; readonly next: Uint8Array | undefined }> {
    const { trace } = this.#options;
    const fromMs = trace?.now() ?? 0;
    const read = { table, row, columns, at: this.timestamp, limit };
    const answer = this.#readFirst(read);
    const page = answer instanceof Promise ? await answer : answer;
    const next = page.next;
    this.#options.recorder?.row(table, row, next === undefined ? columns : columnsBelow(columns, next));
    const cells = await this.#settleRow(table, row, columns, page);
    this.#tell(table, row, columns, cells);
    trace?.readRow(table, row, columns, fromMs);
    if (this.#context.yielding.isDue(cells.length)) await this.#context.yielding.turn();
    return { cells, next };
  }

  /**
   * A page of rows; the locks on it are resolved together, and only the rows that had one are read again. `ahead`: what
   * {@link rangeAhead} has asked for it.
   */
  async range(
    read: Omit<RangeRead, "at">,
    ahead?: Promise<RangePage>,
  ): Promise<{ readonly rows: readonly CommittedRow[]; readonly next: Position | undefined }> {
    const { trace } = this.#options;
    const fromMs = trace?.now() ?? 0;
    const answer = ahead ?? this.#context.store.readRange({ ...read, at: this.timestamp }, this.#request);
    const page: RangePage = answer instanceof Promise ? await answer : answer;
    const rows = this.#settleAtOnce(page.rows) ?? (await this.#settleRange(read, page));
    if (this.#context.yielding.isDue(rows.length)) await this.#context.yielding.turn();
    // Rows may be missing from the page altogether, so that only the safepoint tells whether it is whole.
    await this.#checkSafepoint();
    for (const { row, cells } of rows) this.#tell(read.table, row, [], cells);
    trace?.readRange(read.table, read.start?.row, read.columns, rows, fromMs);
    return { rows, next: page.next };
  }

  /** Asks for a page that is likely to be wanted, and resolves nothing yet. Undefined where the store is in this process. */
  rangeAhead(read: Omit<RangeRead, "at">): Promise<RangePage> | undefined {
    const { store } = this.#context;
    if (!isRemote(store)) return undefined;
    const page = Promise.resolve(store.readRange({ ...read, at: this.timestamp }, this.#request));
    // Where nobody comes for it nobody need know that it failed.
    page.catch(() => {});
    return page;
  }

  /** Tells a test what was read: the cells found, and of those named by themselves, which are not there. */
  #tell(table: string, row: Uint8Array, columns: Columns, cells: readonly CommittedCell[]): void {
    const { hooks } = this.#context;
    if (hooks.read === undefined || this.#options.exempt) return;
    const startTimestamp = this.timestamp;
    for (const { column, commit, value } of cells)
      hooks.read({ startTimestamp, cell: { table, row, column }, commit, value });
    for (const column of columns) {
      if (!("exact" in column) || cells.some((cell) => Buffer.compare(cell.column, column.exact) === 0))
        continue;
      const cell = { table, row, column: column.exact };
      hooks.read({ startTimestamp, cell, commit: undefined, value: undefined });
    }
  }

  /** The rows decoded, if no lock stands on any and no value stands elsewhere; without yielding. */
  #settleAtOnce(rows: readonly RowView[]): readonly CommittedRow[] | undefined {
    const settled: CommittedRow[] = [];
    for (const row of rows) {
      const cells = this.#decodeAtOnce(row.cells);
      if (cells === undefined) return undefined;
      settled.push({ row: row.row, cells });
    }
    return settled;
  }

  async #settleRange(read: Omit<RangeRead, "at">, page: RangePage): Promise<readonly CommittedRow[]> {
    const rows: CommittedRow[] = [];
    for (const [index, row] of page.rows.entries()) {
      const cells = this.#decodeAtOnce(row.cells) ?? (await this.#settleOnPage(read, page, index));
      rows.push({ row: row.row, cells });
    }
    return rows;
  }

  /** Of a page that may have come long ahead: a lock on it may be gone, and is looked at again before it is resolved. */
  #settleOnPage(
    read: Omit<RangeRead, "at">,
    page: RangePage,
    index: number,
  ): Promise<readonly CommittedCell[]> {
    const { row, cells } = page.rows[index]!;
    const isLocked = cells.some(({ lock }) => lock !== undefined && !this.#isPassed(lock));
    if (!isLocked) return this.#fetchElsewhere(read.table, row, cells);
    return this.#readSettled(read.table, row, this.#columnsOfPage(read, page, index), 0);
  }

  /** The columns of a row, in as many pages as the store may divide them into. */
  async #readSettled(
    table: string,
    row: Uint8Array,
    columns: Columns,
    attempt: number,
  ): Promise<readonly CommittedCell[]> {
    const settled: (readonly CommittedCell[])[] = [];
    for (let left = columns; left.length > 0; ) {
      const answer = this.#readRow(table, row, left);
      const page = answer instanceof Promise ? await answer : answer;
      const rest = page.next === undefined ? [] : columnsFrom(left, Buffer.from(page.next));
      settled.push(await this.#settleRow(table, row, left, page, attempt));
      left = rest;
    }
    return settled.flat();
  }

  /** The columns that the page showed of its row at `index`: a wide row may be divided over pages. */
  #columnsOfPage(read: Omit<RangeRead, "at">, page: RangePage, index: number): Columns {
    if (read.columns.length === 1 && "exact" in read.columns[0]!) return read.columns;
    return page.rows[index]!.cells.map((cell) => ({ exact: cell.column }));
  }

  /** Not to be awaited where the store answers at once: what it lends is gone after that. */
  #readRow(table: string, row: Uint8Array, columns: Columns): MaybePromise<RowPage> {
    const read = { table, row, columns, at: this.timestamp, limit: widestRow };
    return this.#context.store.readRow(read, this.#request);
  }

  async #settleRow(
    table: string,
    row: Uint8Array,
    columns: Columns,
    page: RowPage,
    attempt = 0,
  ): Promise<readonly CommittedCell[]> {
    const settled = this.#decodeAtOnce(page.cells);
    if (settled !== undefined) {
      const kept = settled.map(keep);
      if (attempt > 0 || !isWhole(page, columns)) await this.#checkSafepoint();
      return kept;
    }
    const shown =
      page.next === undefined ? columns : page.cells.map(({ column }) => ({ exact: Buffer.from(column) }));
    const complete = await this.#settleSlowly(table, row, page.cells);
    if (complete !== undefined) {
      await this.#checkSafepoint();
      return complete;
    }
    if (attempt + 1 < maxResolutions) return await this.#readSettled(table, row, shown, attempt + 1);
    throw new StoreDamagedError(`The locks on a row of "${table}" could not be resolved; run \`check\`.`);
  }

  /** Cells without anything in the way; `undefined` if a lock that counts or a value elsewhere was met. */
  #decodeAtOnce(views: readonly CellView[]): readonly CommittedCell[] | undefined {
    const cells: CommittedCell[] = [];
    for (const view of views) {
      if (view.lock !== undefined && !this.#isPassed(view.lock)) return undefined;
      const write = view.write;
      if (write === undefined) continue;
      const bytes = asBuffer(write.value);
      const form = writeForm(bytes);
      if (form === "elsewhere") return undefined;
      cells.push(committed(view.column, write.timestamp, bytes, form));
    }
    return cells;
  }

  #isPassed(lock: Version): boolean {
    return this.#resolution?.passed.has(lock.timestamp) ?? false;
  }

  /** Resolves locks (then `undefined`: read again), or fetches the values that stand in data cells. */
  async #settleSlowly(
    table: string,
    row: Uint8Array,
    views: readonly CellView[],
  ): Promise<readonly CommittedCell[] | undefined> {
    const locks = views.flatMap((view) =>
      view.lock === undefined || this.#isPassed(view.lock)
        ? []
        : [metLock({ table, row, column: view.column }, view.lock)],
    );
    if (locks.length > 0) {
      this.#resolution ??= newResolution(this.timestamp, this.#options.signal);
      for (const lock of locks) await this.#resolve(lock, this.#resolution);
      return undefined;
    }
    return await this.#fetchElsewhere(table, row, views);
  }

  async #resolve(lock: MetLock, resolution: Resolution): Promise<void> {
    const { trace } = this.#options;
    const fromMs = trace?.now() ?? 0;
    await this.#context.resolver.resolveForRead(this.#context, lock, resolution);
    trace?.span("wait", "lock", fromMs, lock.cell);
  }

  /** The cells of views without locks; values that stand in data cells, and did not come with them, are read. */
  async #fetchElsewhere(
    table: string,
    row: Uint8Array,
    views: readonly CellView[],
  ): Promise<readonly CommittedCell[]> {
    const owned = views.flatMap((view) => {
      if (view.write === undefined) return [];
      const bytes = Buffer.from(view.write.value);
      return [{ column: view.column, commit: view.write.timestamp, bytes, data: ownData(view) }];
    });
    const cells: CommittedCell[] = [];
    for (const { column, commit, bytes, data } of owned) {
      const form = writeForm(bytes);
      if (form !== "elsewhere") cells.push(committed(column, commit, bytes, form));
      else {
        const value = await this.#external({ table, row, column }, bytes, data);
        cells.push(new CommittedCell(column, commit, value));
      }
    }
    return cells;
  }

  async #external(
    cell: CellAddress,
    write: Buffer,
    data: readonly { readonly timestamp: number; readonly value: Buffer }[],
  ): Promise<Buffer> {
    const { start } = decodeWrite(write);
    const atHand = data.find((version) => version.timestamp === start);
    if (atHand !== undefined) return atHand.value;
    const [found] = await readCells(this.#context.store, cell, ["data"], start, start + 1);
    if (found !== undefined) return asBuffer(found.value);
    // Either collection took it, which the safepoint then says, or the store is damaged.
    await this.#checkSafepoint();
    throw new StoreDamagedError(
      `The value of ${showCell(cell, this.#context.schemas)} written at ${start} is missing from the store; run \`check\`.`,
    );
  }

  #checkSafepoint(): MaybePromise<void> {
    if (this.#options.exempt) return;
    return this.#context.safepoint.check(this.timestamp);
  }
}
