import { LimitExceededError } from "../errors/index.js";
import { compareBytes, type Position } from "../store/index.js";
import { addressKey, type CellAddress, isSameCell } from "./cell/address.js";
import { OrderedWrites } from "./ordered-writes.js";

/** A write that waits for the commit. */
export interface BufferedWrite extends CellAddress {
  /** Undefined deletes the cell. */
  readonly value: Uint8Array | undefined;
}

/** Bytes counted for each cell in addition to its key and value. */
const overheadBytes = 100;

/** Above this number of writes, a map finds a cell. Below it, a linear search is cheaper. */
const fewWrites = 16;

const nothing: readonly never[] = Object.freeze([]);

/**
 * The writes and notifications of one transaction until its commit. The last write to a cell
 * counts. Bounded in bytes. Fields stay undefined until they are used, because thousands of small
 * transactions may be running.
 */
export class WriteBuffer {
  readonly #limit: number;
  #bytes = 0;
  #writes: BufferedWrite[] | undefined;
  /** Index in `#writes` by cell. Defined only if there are many writes. */
  #places: Map<string, number> | undefined;
  #signals: Map<string, CellAddress> | undefined;
  #sorted: readonly BufferedWrite[] | undefined;
  /** The writes of each table of which a range was read. */
  #ordered: Map<string, OrderedWrites<BufferedWrite>> | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isEmpty(): boolean {
    return this.#writes === undefined && this.#signals === undefined;
  }

  get hasWrites(): boolean {
    return this.#writes !== undefined;
  }

  /** Number of cells written. */
  get size(): number {
    return this.#writes === undefined ? 0 : this.#writes.length;
  }

  /** The table of all writes. Undefined if there are writes to several tables, or none. */
  get onlyTable(): string | undefined {
    const first = this.#writes?.[0]?.table;
    return this.#writes?.every(({ table }) => table === first) ? first : undefined;
  }

  get(address: CellAddress): BufferedWrite | undefined {
    return this.#writes?.[this.#place(address)];
  }

  set(write: BufferedWrite): void {
    const place = this.#place(write);
    const before = this.#writes?.[place];
    this.#grow(writeBytes(write) - (before === undefined ? 0 : writeBytes(before)));
    this.#sorted = undefined;
    this.#ordered?.get(write.table)?.set(write);
    // An array literal takes less memory than an array that grows from empty.
    if (this.#writes === undefined) this.#writes = [write];
    else if (before === undefined) this.#add(this.#writes, write);
    else this.#writes[place] = write;
  }

  /** Index of the cell in `#writes`, or -1. */
  #place(address: CellAddress): number {
    const writes = this.#writes;
    if (writes === undefined) return -1;
    if (this.#places !== undefined) return this.#places.get(addressKey(address)) ?? -1;
    for (let place = 0; place < writes.length; place++) if (isSameCell(writes[place]!, address)) return place;
    return -1;
  }

  #add(writes: BufferedWrite[], write: BufferedWrite): void {
    writes.push(write);
    if (this.#places !== undefined) this.#places.set(addressKey(write), writes.length - 1);
    else if (writes.length > fewWrites) {
      this.#places = new Map(writes.map((each, place) => [addressKey(each), place]));
    }
  }

  notify(signal: CellAddress): void {
    const key = addressKey(signal);
    if (this.#signals?.has(key)) return;
    this.#grow(writeBytes({ ...signal, value: undefined }));
    this.#signals ??= new Map();
    this.#signals.set(key, signal);
  }

  #grow(by: number): void {
    if (this.#bytes + by > this.#limit) {
      throw new LimitExceededError(
        `A transaction may hold at most ${this.#limit} bytes of writes, and this one would hold more. Divide the work ` +
          "into several transactions, or open the database with a larger `transactionBytes`.",
      );
    }
    this.#bytes += by;
  }

  get signals(): readonly CellAddress[] {
    return this.#signals === undefined ? nothing : [...this.#signals.values()];
  }

  /** All writes in table, row and column order. */
  all(): readonly BufferedWrite[] {
    if (this.#writes === undefined) return nothing;
    this.#sorted ??= isSorted(this.#writes) ? this.#writes : sorted(this.#writes);
    return this.#sorted;
  }

  /**
   * The writes to one table from `from` (inclusive) to `to` (exclusive), in row and column order.
   * Without `to`, all from `from` on.
   */
  between(table: string, from: Position, to: Position | undefined): readonly BufferedWrite[] {
    if (this.#writes === undefined) return nothing;
    this.#ordered ??= new Map();
    let ordered = this.#ordered.get(table);
    if (ordered === undefined) {
      ordered = new OrderedWrites();
      for (const write of this.#writes) if (write.table === table) ordered.set(write);
      this.#ordered.set(table, ordered);
    }
    return ordered.between(from, to);
  }

  clear(): void {
    this.#writes = undefined;
    this.#places = undefined;
    this.#signals = undefined;
    this.#sorted = undefined;
    this.#ordered = undefined;
    this.#bytes = 0;
  }
}

function isSorted(writes: readonly BufferedWrite[]): boolean {
  for (let i = 1; i < writes.length; i++) if (compareAddresses(writes[i - 1]!, writes[i]!) > 0) return false;
  return true;
}

/** A sorted copy. Few writes are sorted here, because the engine's sort allocates arrays of its own. */
function sorted(writes: readonly BufferedWrite[]): readonly BufferedWrite[] {
  const copy = [...writes];
  if (copy.length > fewWrites) return copy.sort(compareAddresses);
  for (let i = 1; i < copy.length; i++) {
    const write = copy[i]!;
    let place = i;
    for (; place > 0 && compareAddresses(copy[place - 1]!, write) > 0; place--)
      copy[place] = copy[place - 1]!;
    copy[place] = write;
  }
  return copy;
}

function writeBytes(write: BufferedWrite): number {
  return overheadBytes + write.row.length + write.column.length + (write.value?.length ?? 0);
}

/** Orders cells by table, then row, then column, each by its bytes. */
export function compareAddresses(a: CellAddress, b: CellAddress): number {
  if (a.table !== b.table) return a.table < b.table ? -1 : 1;
  // Keys are short, and for short arrays this is faster than a native comparison.
  return compareBytes(a.row, b.row) || compareBytes(a.column, b.column);
}
