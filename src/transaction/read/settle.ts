import { StoreDamagedError } from "../../errors/index.js";
import {
  asBuffer,
  type CellView,
  type Columns,
  type MaybePromise,
  type RowPage,
  type StoreRequestOptions,
  type Version,
} from "../../store/index.js";
import { type CellAddress, showCell } from "../cell/address.js";
import { isWhole, ownData } from "../cell/cell-views.js";
import { columnsFrom } from "../cell/column-parts.js";
import { CommittedCell, committed, keep } from "../cell/committed.js";
import { type MetLock, metLock, newResolution, type Resolution } from "../cell/met-lock.js";
import { readCells } from "../cell/raw.js";
import { decodeWrite, isLoaded, writeForm, writeStart } from "../cell/records.js";
import type { TransactionContext } from "../context.js";
import { isLoadVisible, publicationOf, type ReadCommitted } from "./load-visibility.js";
import type { ReaderOptions } from "./reader-options.js";

/**
 * How often the read of one page resolves locks before it fails. Waits for the owner of a lock do
 * not count: the lock may stand for as long as its owner lives.
 */
const maxResolutions = 1_000;
/** Maximum number of columns in one repeated read of a locked row. */
const widestRow = 100_000;

/** A cell whose value is in a data cell. The bytes are copies. */
interface Elsewhere {
  /** Index of the cell among the decoded cells. */
  readonly index: number;
  readonly write: Buffer;
  readonly data: readonly { readonly timestamp: number; readonly value: Buffer }[];
}

/** The decoded views of one row. The cells are lent if the views are. */
interface Decoded {
  readonly cells: readonly CommittedCell[];
  readonly elsewhere: readonly Elsewhere[];
  /** Locks that the reader may not ignore. If there are any, the cells are not valid. */
  readonly locks: readonly MetLock[];
  /**
   * Start timestamps of bulk loads with cells here. The reader must find out whether they are
   * visible. Until then, the cells are not valid.
   */
  readonly loads: readonly number[];
}

/** What blocks a read of a row. */
type Obstacles = Pick<Decoded, "locks" | "loads">;

function isBlocked({ locks, loads }: Obstacles): boolean {
  return locks.length > 0 || loads.length > 0;
}

const none: readonly never[] = Object.freeze([]);

/**
 * Turns the views of a row into committed cells as of one start timestamp, the second half of the
 * paper's `Get` (figure 6). For each row it resolves locks and reads again until none blocks it.
 * Then it fetches values from data cells, and checks the safepoint (protocol §3.2 and §7).
 */
export class RowSettler {
  readonly #context: TransactionContext;
  readonly #timestamp: number;
  readonly #options: ReaderOptions;
  readonly #request: StoreRequestOptions | undefined;
  /** Created when the reader meets its first lock. */
  #resolution: Resolution | undefined;
  /** Whether this reader sees the cells of bulk loads, by the start timestamp of the load. */
  #loads: Map<number, boolean> | undefined;

  constructor(
    context: TransactionContext,
    timestamp: number,
    options: ReaderOptions,
    request: StoreRequestOptions | undefined,
  ) {
    this.#context = context;
    this.#timestamp = timestamp;
    this.#options = options;
    this.#request = request;
  }

  /**
   * The cells of one row, if no lock or data cell interferes. Otherwise undefined. Does not yield.
   * The cells are lent if the views are.
   */
  atOnce(table: string, row: Uint8Array, views: readonly CellView[]): readonly CommittedCell[] | undefined {
    const decoded = this.#decode(table, row, views);
    return decoded.elsewhere.length === 0 && !isBlocked(decoded) ? decoded.cells : undefined;
  }

  /** The cells of one page of a row. The caller may keep them. */
  async row(
    table: string,
    row: Uint8Array,
    columns: Columns,
    page: RowPage,
  ): Promise<readonly CommittedCell[]> {
    // A store that answers at once may lend the page. This function therefore finishes with it
    // before it first yields.
    const shown = page.next === undefined ? columns : exactColumns(page.cells);
    const wasWhole = isWhole(page, columns);
    const decoded = this.#decode(table, row, page.cells);
    const isSettled = !isBlocked(decoded);
    const cells = isSettled
      ? await this.#complete(table, row, decoded)
      : await this.#again(table, row, shown, decoded);
    const sawNewest = isSettled && wasWhole && decoded.elsewhere.length === 0;
    if (!sawNewest) await this.checkSafepoint();
    return cells;
  }

  /**
   * The cells of a row on a page of rows. The caller checks the safepoint. The page may be old, and
   * a lock on it may be gone. This function therefore reads `columns` again before it resolves any
   * lock.
   */
  async rowOfPage(
    table: string,
    row: Uint8Array,
    columns: Columns,
    views: readonly CellView[],
  ): Promise<readonly CommittedCell[]> {
    const decoded = this.#decode(table, row, views);
    if (!isBlocked(decoded)) return await this.#complete(table, row, decoded);
    return await this.#again(table, row, columns, undefined);
  }

  /**
   * Reads columns of a row until no page shows a lock that the reader may not ignore. `first` is an
   * earlier read, whose locks this method resolves first.
   */
  async #again(
    table: string,
    row: Uint8Array,
    columns: Columns,
    first: Decoded | undefined,
  ): Promise<readonly CommittedCell[]> {
    const settled: CommittedCell[] = [];
    let left = columns;
    let met: Obstacles = first ?? { locks: none, loads: none };
    for (let resolutions = 0; left.length > 0; ) {
      if ((await this.#resolve(met)) && ++resolutions >= maxResolutions) {
        throw new StoreDamagedError(
          `The locks on a row of "${table}" could not be resolved. Run \`percolator check\`.`,
        );
      }
      const answer = this.#read(table, row, left);
      const page = answer instanceof Promise ? await answer : answer;
      const rest = page.next === undefined ? none : columnsFrom(left, Buffer.from(page.next));
      const decoded = this.#decode(table, row, page.cells);
      met = decoded;
      if (isBlocked(decoded)) continue;
      settled.push(...(await this.#complete(table, row, decoded)));
      left = rest;
      resolutions = 0;
    }
    return settled;
  }

  /**
   * Decodes views into cells, locks and values to fetch. All reads through this class decode here.
   */
  #decode(table: string, row: Uint8Array, views: readonly CellView[]): Decoded {
    const cells: CommittedCell[] = [];
    let elsewhere: Elsewhere[] | undefined;
    let locks: MetLock[] | undefined;
    let loads: number[] | undefined;
    for (const view of views) {
      const { column, lock, write } = view;
      if (lock !== undefined && !this.#isPassed(lock)) {
        locks ??= [];
        locks.push(metLock({ table, row, column }, lock));
      } else if (write !== undefined) {
        const bytes = asBuffer(write.value);
        const form = writeForm(bytes);
        if (isLoaded(bytes)) {
          const isVisible = this.#isLoadVisible(writeStart(bytes));
          if (isVisible === undefined) {
            loads ??= [];
            loads.push(writeStart(bytes));
          }
          // A load begins with empty ranges. So if its cell is not visible, no other version is.
          if (isVisible !== true) continue;
        }
        if (form === "elsewhere") {
          elsewhere ??= [];
          elsewhere.push({ index: cells.length, write: Buffer.from(bytes), data: ownData(view) });
        }
        cells.push(committed(column, write.timestamp, bytes, form));
      }
    }
    return { cells, elsewhere: elsewhere ?? none, locks: locks ?? none, loads: loads ?? none };
  }

  /** Undefined if this reader does not know it yet. */
  #isLoadVisible(start: number): boolean | undefined {
    const { loads } = this.#context;
    if (loads.isVisible(start, this.#timestamp)) return true;
    if (this.#options.exempt === true && loads.publishedAt(start) !== undefined) return true;
    return this.#loads?.get(start);
  }

  /** Copies the cells and fetches the values that are in data cells. */
  async #complete(
    table: string,
    row: Uint8Array,
    { cells, elsewhere }: Decoded,
  ): Promise<readonly CommittedCell[]> {
    const kept = cells.map(keep);
    for (const { index, write, data } of elsewhere) {
      const { column, commit } = kept[index]!;
      const value = await this.#external({ table, row, column }, write, data);
      kept[index] = new CommittedCell(column, commit, value);
    }
    return kept;
  }

  async #external(cell: CellAddress, write: Buffer, data: Elsewhere["data"]): Promise<Buffer> {
    const { start } = decodeWrite(write);
    const atHand = data.find((version) => version.timestamp === start);
    if (atHand !== undefined) return atHand.value;
    const [found] = await readCells(this.#context.store, cell, ["data"], start, start + 1);
    if (found !== undefined) return asBuffer(found.value);
    // If collection dropped the value, the safepoint check throws. Otherwise the store is damaged.
    await this.checkSafepoint();
    throw new StoreDamagedError(
      `The value of ${showCell(cell, this.#context.schemas)} written at ${start} is missing from the store. Run \`percolator check\`.`,
    );
  }

  /**
   * An answer that comes at once may hold lent bytes, which are valid only until the caller yields.
   * The caller must not await it.
   */
  #read(table: string, row: Uint8Array, columns: Columns): MaybePromise<RowPage> {
    const read = { table, row, columns, at: this.#timestamp, limit: widestRow };
    return this.#context.store.readRow(read, this.#request);
  }

  /** Returns whether it resolved anything, and did not only wait. */
  async #resolve({ locks, loads }: Obstacles): Promise<boolean> {
    for (const start of new Set(loads)) {
      this.#loads ??= new Map();
      this.#loads.set(start, await this.#seesLoad(start));
    }
    let isResolved = loads.length > 0;
    if (locks.length === 0) return isResolved;
    const { trace } = this.#options;
    this.#resolution ??= newResolution(this.#timestamp, this.#options.signal);
    for (const lock of locks) {
      const fromMs = trace?.now() ?? 0;
      const outcome = await this.#context.resolver.resolveForRead(this.#context, lock, this.#resolution);
      isResolved ||= outcome !== "standing";
      trace?.span("wait", "lock", fromMs, lock.cell);
    }
    return isResolved;
  }

  /**
   * A read of a previous value (`exempt`) is below the publication, but it belongs to a run that saw
   * the published cell. It sees every published load.
   */
  async #seesLoad(start: number): Promise<boolean> {
    const { signal, exempt } = this.#options;
    const read: ReadCommitted = (context, cell, at) => readCommitted(context, cell, at, signal);
    if (exempt === true) return (await publicationOf(this.#context, start, read)) !== undefined;
    return isLoadVisible(this.#context, start, this.#timestamp, read);
  }

  /** Whether this reader knows that the lock's transaction commits above its timestamp. */
  #isPassed(lock: Version): boolean {
    return this.#resolution?.passed.has(lock.timestamp) ?? false;
  }

  checkSafepoint(): MaybePromise<void> {
    if (this.#options.exempt) return;
    return this.#context.safepoint.check(this.#timestamp);
  }
}

function exactColumns(views: readonly CellView[]): Columns {
  return views.map(({ column }) => ({ exact: Buffer.from(column) }));
}

/** Reads one cell in the snapshot at a timestamp. */
export async function readCommitted(
  context: TransactionContext,
  { table, row, column }: CellAddress,
  timestamp: number,
  signal?: AbortSignal,
): Promise<CommittedCell | undefined> {
  const columns = [{ exact: column }];
  const request = signal === undefined ? undefined : { signal };
  // A store that answers at once may lend the page, which must not wait for a turn then.
  const answer = context.store.readRow({ table, row, columns, at: timestamp }, request);
  const page = answer instanceof Promise ? await answer : answer;
  const settler = new RowSettler(context, timestamp, { signal }, request);
  return (await settler.row(table, row, columns, page))[0];
}
