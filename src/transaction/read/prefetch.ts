import {
  byteString,
  type CellView,
  type Columns,
  type MaybePromise,
  type RowPage,
  type RowRead,
} from "../../store/index.js";
import { rowKey } from "../cell/address.js";
import type { ReadHow, ReadPredictor } from "./read-predictor.js";

/**
 * Rows for which one transaction keeps prefetched cells. Rows beyond this limit are read without
 * prefetching.
 */
const maxRows = 1_000;
/** 8 MiB: maximum bytes of cells that one transaction keeps. */
const maxBytes = 8 * 1024 * 1024;

/** The answer to the first request for a row, pending or arrived. */
interface AheadRow {
  /** Every column that the request named. */
  readonly named: ReadonlySet<string>;
  readonly arriving: Promise<Arrived>;
}

interface Arrived {
  readonly cells: ReadonlyMap<string, CellView>;
  /** The answer covers columns below this one. Undefined if it covers all. */
  readonly end: string | undefined;
}

type ExactColumn = { readonly exact: Uint8Array };

/**
 * Prefetches columns for one transaction. The first request for a row also fetches the columns that
 * the transaction is likely to read later.
 *
 * A prefetched cell stays correct, because the row is read as of the start timestamp: a transaction
 * that locks the cell after the request commits above that timestamp. Only a prefetched lock can
 * become outdated, because another process may have removed it since. The transaction therefore
 * reads a locked cell again.
 */
export class Prefetch {
  readonly #predictor: ReadPredictor;
  readonly #readRow: (read: RowRead) => MaybePromise<RowPage>;
  /**
   * Every row that was read. Undefined if the first request for the row fetched no additional
   * columns.
   */
  readonly #rows = new Map<string, AheadRow | undefined>();
  #bytes = 0;

  constructor(predictor: ReadPredictor, readRow: (read: RowRead) => MaybePromise<RowPage>) {
    this.#predictor = predictor;
    this.#readRow = readRow;
  }

  /**
   * Answers a read as the store would: from prefetched cells, or by a request that may prefetch
   * more.
   */
  read(read: RowRead): MaybePromise<RowPage> {
    const { columns } = read;
    if (!areExact(columns) || read.limit !== undefined) return this.#readRow(read);
    const key = rowKey(read.table, read.row);
    const row = this.#rows.get(key);
    if (row?.named.has(byteString(columns[0]!.exact))) return this.#takeOrAsk(read, columns, row);
    if (this.#rows.has(key)) return this.#ask(read, columns, "asked");
    return this.#rows.size < maxRows ? this.#readFirst(key, read, columns) : this.#readRow(read);
  }

  #readFirst(key: string, read: RowRead, columns: readonly ExactColumn[]): MaybePromise<RowPage> {
    const { table, row } = read;
    this.#rows.set(key, undefined);
    const asked = new Set(columns.map(({ exact }) => byteString(exact)));
    const expected = this.#predictor.expected(table, row).filter((column) => !asked.has(byteString(column)));
    if (expected.length === 0 || this.#bytes >= maxBytes) return this.#ask(read, columns, "first");
    const all = [...columns, ...expected.map((exact) => ({ exact }))];
    all.sort((a, b) => Buffer.compare(a.exact, b.exact));
    const arriving = this.#arrive(key, this.#readRow({ ...read, columns: all }), read, expected);
    this.#rows.set(key, { named: new Set(all.map(({ exact }) => byteString(exact))), arriving });
    return this.#takeFirst(read, columns, arriving);
  }

  async #arrive(
    key: string,
    answer: MaybePromise<RowPage>,
    { table, row }: RowRead,
    expected: readonly Uint8Array[],
  ): Promise<Arrived> {
    try {
      const isLent = !(answer instanceof Promise);
      const page = isLent ? answer : await answer;
      const views = isLent ? page.cells.map(ownView) : page.cells;
      for (const view of views) this.#bytes += viewBytes(view);
      for (const column of expected) this.#predictor.fetched(table, row, column);
      const end = page.next === undefined ? undefined : byteString(page.next);
      return { cells: new Map(views.map((view) => [byteString(view.column), view])), end };
    } catch (error) {
      this.#rows.set(key, undefined);
      throw error;
    }
  }

  /** Answers the first read of a row. It may return locks, because the answer has just arrived. */
  async #takeFirst(
    read: RowRead,
    columns: readonly ExactColumn[],
    arriving: Promise<Arrived>,
  ): Promise<RowPage> {
    const arrived = await arriving;
    const cells = take(arrived, undefined, columns);
    // The answer ended before it reached all of these columns, because the request also named
    // prefetched columns. The next request names only the columns of this read.
    if (cells === undefined) return this.#ask(read, columns, "first");
    this.#tell(read, columns, cells, "first");
    return { row: read.row, cells, next: undefined };
  }

  async #takeOrAsk(read: RowRead, columns: readonly ExactColumn[], row: AheadRow): Promise<RowPage> {
    const cells = take(await row.arriving, row.named, columns);
    if (cells === undefined || cells.some((view) => view.lock !== undefined))
      return this.#ask(read, columns, "asked");
    this.#tell(read, columns, cells, "atHand");
    return { row: read.row, cells, next: undefined };
  }

  #ask(read: RowRead, columns: readonly ExactColumn[], how: ReadHow): MaybePromise<RowPage> {
    const answer = this.#readRow(read);
    if (!(answer instanceof Promise)) {
      this.#tell(read, columns, answer.cells, how);
      return answer;
    }
    return answer.then((page) => {
      this.#tell(read, columns, page.cells, how);
      return page;
    });
  }

  #tell(
    { table, row }: RowRead,
    columns: readonly ExactColumn[],
    cells: readonly CellView[],
    how: ReadHow,
  ): void {
    for (const { exact } of columns) {
      const view = cells.find((cell) => Buffer.compare(cell.column, exact) === 0);
      this.#predictor.read(table, row, exact, how, view === undefined ? 0 : viewBytes(view));
    }
  }
}

/**
 * The prefetched cells of some columns. Undefined if the request did not name one of them, or the
 * answer ended before it.
 */
function take(
  { cells, end }: Arrived,
  named: ReadonlySet<string> | undefined,
  columns: readonly ExactColumn[],
): readonly CellView[] | undefined {
  const taken: CellView[] = [];
  for (const { exact } of columns) {
    const column = byteString(exact);
    if (named?.has(column) === false || (end !== undefined && column >= end)) return undefined;
    const view = cells.get(column);
    if (view !== undefined) taken.push(view);
  }
  return taken;
}

function areExact(columns: Columns): columns is readonly ExactColumn[] {
  return columns.every((column) => "exact" in column);
}

function viewBytes({ column, write, data }: CellView): number {
  return data.reduce(
    (bytes, { value }) => bytes + value.length,
    column.length + (write === undefined ? 0 : write.value.length),
  );
}

/** Copies a view that the store only lends. */
function ownView(view: CellView): CellView {
  const { column, lock, write, latest, data } = view;
  const own = (version: { readonly timestamp: number; readonly value: Uint8Array }) => ({
    timestamp: version.timestamp,
    value: Buffer.from(version.value),
  });
  return {
    column: Buffer.from(column),
    lock: lock && own(lock),
    write: write && own(write),
    latest,
    data: data.map(own),
  };
}
