import { LimitExceededError } from "../errors/index.js";
import { addressKey, type CellAddress, isSameCell } from "./cell/address.js";

/** A write that waits for the commit. */
export interface BufferedWrite extends CellAddress {
  /** Undefined deletes the cell. */
  readonly value: Uint8Array | undefined;
}

/** Bytes counted for each cell besides its key and value. */
const overheadBytes = 100;

/** From so many writes on they are found by a map, and by comparing before. */
const fewWrites = 16;

const nothing: readonly never[] = Object.freeze([]);

/**
 * What a transaction will write: the last write of each cell counts. Bounded in bytes. What a small transaction does not
 * need is not made: thousands of them may be under way.
 */
export class WriteBuffer {
  readonly #limit: number;
  #bytes = 0;
  #writes: BufferedWrite[] | undefined;
  /** Where in `#writes` a cell is, once they are many. */
  #places: Map<string, number> | undefined;
  #signals: Map<string, CellAddress> | undefined;
  #sorted: readonly BufferedWrite[] | undefined;
  #sortedByTable: Map<string, readonly BufferedWrite[]> | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isEmpty(): boolean {
    return this.#writes === undefined && this.#signals === undefined;
  }

  get hasWrites(): boolean {
    return this.#writes !== undefined;
  }

  /** Cells written. */
  get size(): number {
    return this.#writes === undefined ? 0 : this.#writes.length;
  }

  get(address: CellAddress): BufferedWrite | undefined {
    return this.#writes?.[this.#place(address)];
  }

  set(write: BufferedWrite): void {
    const place = this.#place(write);
    const before = this.#writes?.[place];
    this.#grow(writeBytes(write) - (before === undefined ? 0 : writeBytes(before)));
    this.#sorted = undefined;
    this.#sortedByTable = undefined;
    // A list made with what it holds is smaller than one that grows to it.
    if (this.#writes === undefined) this.#writes = [write];
    else if (before === undefined) this.#add(this.#writes, write);
    else this.#writes[place] = write;
  }

  /** Where in the writes the cell is; -1 where it is not. */
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

  /** All writes, by table, row and column. */
  all(): readonly BufferedWrite[] {
    if (this.#writes === undefined) return nothing;
    this.#sorted ??= [...this.#writes].sort(compareAddresses);
    return this.#sorted;
  }

  /** The writes of one table, by row and column. */
  ofTable(table: string): readonly BufferedWrite[] {
    this.#sortedByTable ??= new Map();
    let sorted = this.#sortedByTable.get(table);
    if (sorted === undefined) {
      sorted = this.all().filter((write) => write.table === table);
      this.#sortedByTable.set(table, sorted);
    }
    return sorted;
  }

  clear(): void {
    this.#writes = undefined;
    this.#places = undefined;
    this.#signals = undefined;
    this.#sorted = undefined;
    this.#sortedByTable = undefined;
    this.#bytes = 0;
  }
}

function writeBytes(write: BufferedWrite): number {
  return overheadBytes + write.row.length + write.column.length + (write.value?.length ?? 0);
}

/** By table, then row, then column, each by its bytes. */
export function compareAddresses(a: CellAddress, b: CellAddress): number {
  if (a.table !== b.table) return a.table < b.table ? -1 : 1;
  return Buffer.compare(a.row, b.row) || Buffer.compare(a.column, b.column);
}
