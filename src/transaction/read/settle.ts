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
import { decodeWrite, writeForm } from "../cell/records.js";
import type { TransactionContext } from "../context.js";
import type { ReaderOptions } from "./reader-options.js";

/**
 * How often the locks on one page of a row are resolved before the read fails. Each time either waits for
 * an owner or removes locks.
 */
const maxResolutions = 1_000;
/** Columns of a row that are read again at once, after locks on some of them. */
const widestRow = 100_000;

/** A cell whose write record says that its value stands in a data cell. The bytes are copies. */
interface Elsewhere {
  /** Where it stands among the decoded cells. */
  readonly index: number;
  readonly write: Buffer;
  readonly data: readonly { readonly timestamp: number; readonly value: Buffer }[];
}

/** What the views of one row show. The cells are lent if the views are. */
interface Decoded {
  readonly cells: readonly CommittedCell[];
  readonly elsewhere: readonly Elsewhere[];
  /** Locks that count: with one, the cells do not. */
  readonly locks: readonly MetLock[];
}

const none: readonly never[] = Object.freeze([]);

/**
 * Makes committed cells of what a store shows of a row, as of one start timestamp: the second half of the paper's `Get`
 * (figure 6). It resolves the locks that it meets and reads again until none is in the way, fetches values from
 * data cells, and then checks the safepoint (protocol §3.2 and §7).
 */
export class RowSettler {
  readonly #context: TransactionContext;
  readonly #timestamp: number;
  readonly #options: ReaderOptions;
  readonly #request: StoreRequestOptions | undefined;
  /** Made when a lock is first met. */
  #resolution: Resolution | undefined;

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

  /** The cells of one row if no lock and no data cell is in the way; without yielding. Lent if the views are. */
  atOnce(table: string, row: Uint8Array, views: readonly CellView[]): readonly CommittedCell[] | undefined {
    const { cells, elsewhere, locks } = this.#decode(table, row, views);
    return elsewhere.length === 0 && locks.length === 0 ? cells : undefined;
  }

  /** The cells of a page of one row, for the caller to keep. */
  async row(
    table: string,
    row: Uint8Array,
    columns: Columns,
    page: RowPage,
  ): Promise<readonly CommittedCell[]> {
    // The page of a store that answers at once may be lent: it is used up before this function first yields.
    const shown = page.next === undefined ? columns : exactColumns(page.cells);
    const wasWhole = isWhole(page, columns);
    const decoded = this.#decode(table, row, page.cells);
    const isSettled = decoded.locks.length === 0;
    const cells = isSettled
      ? await this.#complete(table, row, decoded)
      : await this.#again(table, row, shown, decoded);
    const sawNewest = isSettled && wasWhole && decoded.elsewhere.length === 0;
    if (!sawNewest) await this.checkSafepoint();
    return cells;
  }

  /**
   * The cells of a row on a page of rows, whose reader then checks the safepoint. The page may have been asked for long ago: a lock on it may be gone, so
   * `columns` are read again before any lock is resolved.
   */
  async rowOfPage(
    table: string,
    row: Uint8Array,
    columns: Columns,
    views: readonly CellView[],
  ): Promise<readonly CommittedCell[]> {
    const decoded = this.#decode(table, row, views);
    if (decoded.locks.length === 0) return await this.#complete(table, row, decoded);
    return await this.#again(table, row, columns, undefined);
  }

  /**
   * Reads columns of a row, in as many pages as the store divides them into, until no page shows a lock that counts.
   * `met`: what was shown before, whose locks are resolved first.
   */
  async #again(
    table: string,
    row: Uint8Array,
    columns: Columns,
    met: Decoded | undefined,
  ): Promise<readonly CommittedCell[]> {
    const settled: CommittedCell[] = [];
    let left = columns;
    let locks = met?.locks ?? none;
    for (let resolutions = 0; left.length > 0; ) {
      if (locks.length > 0 && ++resolutions >= maxResolutions) {
        throw new StoreDamagedError(`The locks on a row of "${table}" could not be resolved; run \`check\`.`);
      }
      await this.#resolve(locks);
      const answer = this.#read(table, row, left);
      const page = answer instanceof Promise ? await answer : answer;
      const rest = page.next === undefined ? none : columnsFrom(left, Buffer.from(page.next));
      const decoded = this.#decode(table, row, page.cells);
      locks = decoded.locks;
      if (locks.length > 0) continue;
      settled.push(...(await this.#complete(table, row, decoded)));
      left = rest;
      resolutions = 0;
    }
    return settled;
  }

  /** The one decoder of what a store shows of cells. */
  #decode(table: string, row: Uint8Array, views: readonly CellView[]): Decoded {
    const cells: CommittedCell[] = [];
    let elsewhere: Elsewhere[] | undefined;
    let locks: MetLock[] | undefined;
    for (const view of views) {
      const { column, lock, write } = view;
      if (lock !== undefined && !this.#isPassed(lock)) {
        locks ??= [];
        locks.push(metLock({ table, row, column }, lock));
      } else if (write !== undefined) {
        const bytes = asBuffer(write.value);
        const form = writeForm(bytes);
        if (form === "elsewhere") {
          elsewhere ??= [];
          elsewhere.push({ index: cells.length, write: Buffer.from(bytes), data: ownData(view) });
        }
        cells.push(committed(column, write.timestamp, bytes, form));
      }
    }
    return { cells, elsewhere: elsewhere ?? none, locks: locks ?? none };
  }

  /** Copies of the cells, with the values that stand in data cells. */
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
    // Either collection took it, and then the safepoint says so, or the store is damaged.
    await this.checkSafepoint();
    throw new StoreDamagedError(
      `The value of ${showCell(cell, this.#context.schemas)} written at ${start} is missing from the store; run \`check\`.`,
    );
  }

  /** Not to be awaited if the store answers at once: what it lends is gone after that. */
  #read(table: string, row: Uint8Array, columns: Columns): MaybePromise<RowPage> {
    const read = { table, row, columns, at: this.#timestamp, limit: widestRow };
    return this.#context.store.readRow(read, this.#request);
  }

  async #resolve(locks: readonly MetLock[]): Promise<void> {
    if (locks.length === 0) return;
    const { trace } = this.#options;
    this.#resolution ??= newResolution(this.#timestamp, this.#options.signal);
    for (const lock of locks) {
      const fromMs = trace?.now() ?? 0;
      await this.#context.resolver.resolveForRead(this.#context, lock, this.#resolution);
      trace?.span("wait", "lock", fromMs, lock.cell);
    }
  }

  /** Whether this reader has decided that the lock's transaction commits above its timestamp. */
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
