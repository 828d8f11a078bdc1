import {
  asBuffer,
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
} from "../../store/index.js";
import { isWhole } from "../cell/cell-views.js";
import { columnsBelow, columnsFrom } from "../cell/column-parts.js";
import { type CommittedCell, type CommittedRow, keep } from "../cell/committed.js";
import { writeForm, writeHeaderBytes, writeStart } from "../cell/records.js";
import { systemCell } from "../cell/system.js";
import type { TransactionContext } from "../context.js";
import { Prefetch } from "./prefetch.js";
import type { ReadPredictor } from "./read-predictor.js";
import type { ReaderOptions } from "./reader-options.js";
import { RowSettler } from "./settle.js";
import { ZeroCopyReader } from "./zero-copy-reader.js";

const noOptions: ReaderOptions = Object.freeze({});

/** A page of cells of one row. `next`: the column with which the next page begins. */
interface CellPage {
  readonly cells: readonly CommittedCell[];
  readonly next: Uint8Array | undefined;
}

/**
 * Reads committed cells as of one start timestamp (the paper's `Get`, figure 6). It sits between
 * the typed views and the store. It resolves the locks that it meets, and checks the safepoint
 * after each read.
 */
export class SnapshotReader {
  readonly timestamp: number;
  readonly #context: TransactionContext;
  readonly #options: ReaderOptions;
  readonly #settler: RowSettler;
  readonly #request: StoreRequestOptions | undefined;
  /** Present if {@link predictBy} was called. */
  #ahead: Prefetch | undefined;
  #lent: ZeroCopyReader | undefined;

  constructor(context: TransactionContext, timestamp: number, options: ReaderOptions = noOptions) {
    this.#context = context;
    this.timestamp = timestamp;
    this.#options = options;
    this.#request = options.signal === undefined ? undefined : { signal: options.signal };
    this.#settler = new RowSettler(context, timestamp, options, this.#request);
  }

  /** From now on, the first read of a row also fetches the columns that `predictor` expects. */
  predictBy(predictor: ReadPredictor): void {
    const { store } = this.#context;
    this.#ahead = new Prefetch(predictor, (read) => store.readRow(read, this.#request));
  }

  #readFirst(read: RowRead): MaybePromise<RowPage> {
    return this.#ahead === undefined
      ? this.#context.store.readRow(read, this.#request)
      : this.#ahead.read(read);
  }

  /**
   * The reader of lent bytes. Undefined if the store has no zero-copy reads, or if each read must
   * be predicted or traced.
   */
  get lent(): ZeroCopyReader | undefined {
    const { zeroCopy } = this.#context.store;
    if (zeroCopy === undefined || this.#ahead !== undefined || this.#options.trace !== undefined)
      return undefined;
    this.#lent ??= new ZeroCopyReader(this.#context, zeroCopy, this.timestamp, this.#options);
    return this.#lent;
  }

  /**
   * The decoded value of one cell. Undefined if the cell is absent or deleted. If the store answers
   * at once and no lock interferes, `decode` gets lent bytes and must use them before it returns.
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
        const isShown =
          form === "value" ||
          (form === "loaded" && this.#context.loads.isVisible(writeStart(bytes), this.timestamp));
        if (isShown) return decode(bytes, writeHeaderBytes, bytes.length);
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
    // A store that answers at once may lend the page. The settler therefore finishes with the page
    // before it first yields.
    const found = page instanceof Promise ? await page : page;
    const cells = await this.#settler.row(table, row, columns, found);
    this.#tell(table, row, columns, cells);
    const [cell] = cells;
    if (this.#context.yielding.isDue()) await this.#context.yielding.turn();
    return cell?.source === undefined ? undefined : decode(cell.source, cell.from, cell.source.length);
  }

  /** The note that a transaction stored under a name. `undefined` if there is none. */
  async note(name: string): Promise<Uint8Array | undefined> {
    const { table, row, column } = systemCell(`note/${name}`, "note");
    return (await this.row(table, row, [{ exact: column }], 1)).cells[0]?.value;
  }

  /**
   * A page of cells of one row, deleted cells included (`value` undefined). The caller may keep the
   * bytes.
   */
  row(table: string, row: Uint8Array, columns: Columns, limit?: number): MaybePromise<CellPage> {
    const fromMs = this.#options.trace?.now() ?? 0;
    const answer = this.#readFirst({ table, row, columns, at: this.timestamp, limit });
    if (answer instanceof Promise)
      return answer.then((page) => this.#settleRow(table, row, columns, page, fromMs));
    return (
      this.#rowAtOnce(table, row, columns, answer) ?? this.#settleRow(table, row, columns, answer, fromMs)
    );
  }

  /** Undefined if the page must be settled, told, or recorded, or a turn is due. */
  #rowAtOnce(
    table: string,
    row: Uint8Array,
    columns: Columns,
    page: RowPage,
  ): MaybePromise<CellPage> | undefined {
    const { trace, recorder } = this.#options;
    const isPlain = trace === undefined && recorder === undefined && this.#context.hooks.read === undefined;
    if (!isPlain || page.next !== undefined) return undefined;
    const lent = this.#settler.atOnce(table, row, page.cells);
    if (lent === undefined || this.#context.yielding.isDue(Math.max(1, lent.length))) return undefined;
    const shown = { cells: lent.map(keep), next: undefined };
    const checked = isWhole(page, columns) ? undefined : this.#settler.checkSafepoint();
    return checked instanceof Promise ? checked.then(() => shown) : shown;
  }

  async #settleRow(
    table: string,
    row: Uint8Array,
    columns: Columns,
    page: RowPage,
    fromMs: number,
  ): Promise<CellPage> {
    const { trace } = this.#options;
    const next = page.next;
    const shown = next === undefined ? columns : columnsBelow(columns, next);
    this.#options.recorder?.row(table, row, shown);
    const cells = await this.#settler.row(table, row, columns, page);
    this.#tell(table, row, shown, cells);
    trace?.readRow(table, row, columns, fromMs);
    if (this.#context.yielding.isDue(Math.max(1, cells.length))) await this.#context.yielding.turn();
    return { cells, next };
  }

  /** The same of all of these columns. A store ends a page after some bytes, so there may be several. */
  wholeRow(table: string, row: Uint8Array, columns: Columns): MaybePromise<readonly CommittedCell[]> {
    const page = this.row(table, row, columns);
    if (!(page instanceof Promise) && page.next === undefined) return page.cells;
    return this.#furtherPages(table, row, columns, page);
  }

  async #furtherPages(
    table: string,
    row: Uint8Array,
    columns: Columns,
    first: MaybePromise<CellPage>,
  ): Promise<readonly CommittedCell[]> {
    let { cells, next } = await first;
    while (next !== undefined) {
      const page = await this.row(table, row, columnsFrom(columns, next));
      cells = [...cells, ...page.cells];
      next = page.next;
    }
    return cells;
  }

  /**
   * A page of rows. Resolves the locks on the page, and then reads the rows with locks again.
   * `ahead`: the pending answer of {@link rangeAhead}.
   */
  async range(
    read: Omit<RangeRead, "at">,
    ahead?: Promise<RangePage>,
  ): Promise<{ readonly rows: readonly CommittedRow[]; readonly next: Position | undefined }> {
    const { trace } = this.#options;
    const fromMs = trace?.now() ?? 0;
    const answer = ahead ?? this.#context.store.readRange({ ...read, at: this.timestamp }, this.#request);
    const page: RangePage = answer instanceof Promise ? await answer : answer;
    const rows = this.#settleAtOnce(read.table, page.rows) ?? (await this.#settleRange(read, page));
    if (this.#context.yielding.isDueAfterPage(rows.length)) await this.#context.yielding.turn();
    // Collection may have removed rows from the page. The safepoint check detects that.
    await this.#settler.checkSafepoint();
    for (const { row, cells } of rows) this.#tell(read.table, row, [], cells);
    trace?.readRange(read.table, read.start?.row, read.columns, rows, fromMs);
    return { rows, next: page.next };
  }

  /**
   * Requests a page that the caller will probably want, without resolving locks. Undefined if the
   * store is in this process, because a read there is quick.
   */
  rangeAhead(read: Omit<RangeRead, "at">): Promise<RangePage> | undefined {
    const { store } = this.#context;
    if (!isRemote(store)) return undefined;
    const page = Promise.resolve(store.readRange({ ...read, at: this.timestamp }, this.#request));
    // If no caller takes the page, its failure does not matter.
    page.catch(() => {});
    return page;
  }

  /**
   * Reports to the test hooks the cells that were found, and those columns of `columns` that have
   * no cell.
   */
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

  /**
   * The decoded rows, if no row shows a lock or a value outside its write record. Does not yield.
   */
  #settleAtOnce(table: string, rows: readonly RowView[]): readonly CommittedRow[] | undefined {
    const settled: CommittedRow[] = [];
    for (const { row, cells: views } of rows) {
      const cells = this.#settler.atOnce(table, row, views);
      if (cells === undefined) return undefined;
      settled.push({ row, cells });
    }
    return settled;
  }

  async #settleRange(read: Omit<RangeRead, "at">, page: RangePage): Promise<readonly CommittedRow[]> {
    const rows: CommittedRow[] = [];
    for (const { row, cells: views } of page.rows) {
      const cells =
        this.#settler.atOnce(read.table, row, views) ??
        (await this.#settler.rowOfPage(read.table, row, columnsOfPage(read.columns, views), views));
      rows.push({ row, cells });
    }
    return rows;
  }
}

/** The columns of a row that a page covered. A wide row may span pages. */
function columnsOfPage(columns: Columns, views: readonly CellView[]): Columns {
  if (columns.length === 1 && "exact" in columns[0]!) return columns;
  return views.map((cell) => ({ exact: cell.column }));
}
