import { LimitExceededError } from "../errors/index.js";
import { addressKey, type CellAddress } from "./address.js";

/** A write that waits for the commit. */
export interface BufferedWrite extends CellAddress {
  /** Undefined deletes the cell. */
  readonly value: Uint8Array | undefined;
}

/** Bytes counted for each cell besides its key and value. */
const overheadBytes = 100;

/** What a transaction will write: the last write of each cell counts. Bounded in bytes. */
export class WriteBuffer {
  // Each is made when it is first needed: thousands of transactions may be under way, and most are small.
  #writes: Map<string, BufferedWrite> | undefined;
  #signals: Map<string, CellAddress> | undefined;
  #sorted: Map<string, readonly BufferedWrite[]> | undefined;
  readonly #limit: number;
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isEmpty(): boolean {
    return this.size === 0 && (this.#signals === undefined || this.#signals.size === 0);
  }

  get hasWrites(): boolean {
    return this.size > 0;
  }

  /** Cells written. */
  get size(): number {
    return this.#writes === undefined ? 0 : this.#writes.size;
  }

  get(address: CellAddress): BufferedWrite | undefined {
    return this.#writes?.get(addressKey(address));
  }

  set(write: BufferedWrite): void {
    this.#writes ??= new Map();
    const key = addressKey(write);
    const before = this.#writes.get(key);
    this.#grow(writeBytes(write) - (before === undefined ? 0 : writeBytes(before)));
    this.#writes.set(key, write);
    this.#sorted?.delete(write.table);
  }

  notify(signal: CellAddress): void {
    this.#signals ??= new Map();
    const key = addressKey(signal);
    if (this.#signals.has(key)) return;
    this.#grow(writeBytes({ ...signal, value: undefined }));
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
    return this.#signals === undefined ? [] : [...this.#signals.values()];
  }

  /** All writes, by table, row and column. */
  all(): readonly BufferedWrite[] {
    return this.#writes === undefined ? [] : [...this.#writes.values()].sort(compareAddresses);
  }

  /** The writes of one table, by row and column. */
  ofTable(table: string): readonly BufferedWrite[] {
    this.#sorted ??= new Map();
    let sorted = this.#sorted.get(table);
    if (sorted === undefined) {
      sorted = this.all().filter((write) => write.table === table);
      this.#sorted.set(table, sorted);
    }
    return sorted;
  }

  clear(): void {
    this.#writes = undefined;
    this.#signals = undefined;
    this.#sorted = undefined;
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
