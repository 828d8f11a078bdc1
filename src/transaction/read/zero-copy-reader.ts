import type {
  MaybePromise,
  TakeCell,
  ZeroCopyPage,
  ZeroCopyRead,
  ZeroCopyRecord,
  ZeroCopyStore,
} from "../../store/index.js";
import { type WriteForm, writeForm, writeHeaderBytes, writeStart } from "../cell/records.js";
import type { TransactionContext } from "../context.js";
import type { ReaderOptions } from "./reader-options.js";

/** Decodes a value from lent bytes. It must not keep them. */
export type DecodeZeroCopy<V> = (bytes: Buffer, start: number, end: number) => V;

/**
 * A scanned column, and the function that builds an item from a lent row and value. Only this
 * package's code may implement it.
 */
export interface ZeroCopyColumn<T> {
  readonly column: Uint8Array;
  readonly toItem: (
    row: Buffer,
    rowStart: number,
    rowEnd: number,
    value: Buffer,
    start: number,
    end: number,
  ) => T;
}

/** A page of a scan. `next` and `stopped` are those of `ZeroCopyPage`. */
export interface ZeroCopyItems<T> extends Pick<ZeroCopyPage, "next" | "stopped"> {
  readonly items: readonly T[];
}

export type ZeroCopyColumnRead = Omit<ZeroCopyRead, "at" | "column">;

/**
 * Returned if the store cannot lend the answer. The caller must then read through `SnapshotReader`.
 */
export const notLent: unique symbol = Symbol("not lent");

/**
 * Reads committed cells from bytes that the store lends, without an object, a copy or a promise per
 * cell. `SnapshotReader` handles the other cases: locks, values in data cells, and failures.
 */
export class ZeroCopyReader {
  readonly #context: TransactionContext;
  readonly #zeroCopy: ZeroCopyStore;
  readonly #timestamp: number;
  readonly #options: ReaderOptions;

  constructor(
    context: TransactionContext,
    zeroCopy: ZeroCopyStore,
    timestamp: number,
    options: ReaderOptions,
  ) {
    this.#context = context;
    this.#zeroCopy = zeroCopy;
    this.#timestamp = timestamp;
    this.#options = options;
  }

  /** The value of one cell. The row is the first `rowLength` bytes of `row`, which is lent. */
  value<V>(
    table: string,
    row: Uint8Array,
    rowLength: number,
    column: Uint8Array,
    decode: DecodeZeroCopy<V>,
  ): MaybePromise<V | undefined> | typeof notLent {
    if (!this.#isOpen() || this.#options.recorder !== undefined) return notLent;
    return this.#valueOf(this.#zeroCopy.cell(table, row, rowLength, column, this.#timestamp), decode);
  }

  /** {@link value} for the row whose bytes are the UTF-8 of `row`. */
  textValue<V>(
    table: string,
    row: string,
    column: Uint8Array,
    decode: DecodeZeroCopy<V>,
  ): MaybePromise<V | undefined> | typeof notLent {
    const zeroCopy = this.#zeroCopy;
    if (zeroCopy.textCell === undefined || !this.#isOpen() || this.#options.recorder !== undefined)
      return notLent;
    return this.#valueOf(zeroCopy.textCell(table, row, column, this.#timestamp), decode);
  }

  #valueOf<V>(
    cell: ZeroCopyRecord | "absent" | undefined,
    decode: DecodeZeroCopy<V>,
  ): MaybePromise<V | undefined> | typeof notLent {
    if (cell === undefined) return notLent;
    if (cell === "absent" || !cell.latest) return this.#beneath(cell, decode);
    const { buffer, start, end } = cell;
    const form = this.#form(buffer, start, end);
    if (form === "elsewhere") return notLent;
    return this.#answer(form === "delete" ? undefined : decode(buffer, start + writeHeaderBytes, end));
  }

  /**
   * The form of a record. A loaded value whose load is known to be visible is a plain value, and any
   * other loaded value counts as one that is elsewhere, because the reader must look further.
   */
  #form(buffer: Buffer, start: number, end: number): Exclude<WriteForm, "loaded"> {
    const form = writeForm(buffer, start, end);
    if (form !== "loaded") return form;
    const { loads } = this.#context;
    return loads.isVisible(writeStart(buffer, start), this.#timestamp) ? "value" : "elsewhere";
  }

  /**
   * The value in a snapshot that shows no version of the cell, or an older one than the newest.
   * Collection may have dropped the right version, so this method checks the safepoint.
   */
  #beneath<V>(
    cell: ZeroCopyRecord | "absent",
    decode: DecodeZeroCopy<V>,
  ): MaybePromise<V | undefined> | typeof notLent {
    let bytes: Buffer | undefined;
    if (cell !== "absent") {
      const { buffer, start, end } = cell;
      const form = this.#form(buffer, start, end);
      if (form === "elsewhere") return notLent;
      if (form === "value") bytes = Buffer.from(buffer.subarray(start + writeHeaderBytes, end));
    }
    const answer = () => this.#answer(bytes === undefined ? undefined : decode(bytes, 0, bytes.length));
    const checked = this.#checkSafepoint();
    return checked instanceof Promise ? checked.then(answer) : answer();
  }

  #answer<V>(value: V): MaybePromise<V> {
    const { yielding } = this.#context;
    return yielding.isDue() ? yielding.turn().then(() => value) : value;
  }

  /**
   * Reads a page of a scan of one column. Undefined if the store cannot return it without a copy.
   */
  async items<T>(
    read: ZeroCopyColumnRead,
    { column, toItem }: ZeroCopyColumn<T>,
  ): Promise<ZeroCopyItems<T> | undefined> {
    if (!this.#isOpen()) return undefined;
    const items: T[] = [];
    const take: TakeCell = (row, rowStart, rowEnd, record, start, end) => {
      try {
        const form = this.#form(record, start, end);
        if (form === "value") {
          items.push(toItem(row, rowStart, rowEnd, record, start + writeHeaderBytes, end));
        }
        return form !== "elsewhere";
      } catch {
        // The item does not decode. `SnapshotReader` reports the same failure when the scan reaches
        // it.
        return false;
      }
    };
    const page = this.#zeroCopy.column({ ...read, column, at: this.#timestamp }, take);
    if (page === undefined) return undefined;
    const { yielding } = this.#context;
    if (yielding.isDueAfterPage(page.cells)) await yielding.turn();
    // Collection may have removed rows from the page. The safepoint check detects that.
    await this.#checkSafepoint();
    return { items, next: page.next, stopped: page.stopped };
  }

  /** Whether lent reads are allowed: no test hook watches reads, and the signal is not aborted. */
  #isOpen(): boolean {
    return this.#context.hooks.read === undefined && this.#options.signal?.aborted !== true;
  }

  #checkSafepoint(): MaybePromise<void> {
    if (this.#options.exempt) return;
    return this.#context.safepoint.check(this.#timestamp);
  }
}
