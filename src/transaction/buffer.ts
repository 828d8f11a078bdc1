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
  readonly #writes = new Map<string, BufferedWrite>();
  readonly #signals = new Map<string, CellAddress>();
  readonly #limit: number;
  #bytes = 0;
  #sorted = new Map<string, readonly BufferedWrite[]>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isEmpty(): boolean {
    return this.#writes.size === 0 && this.#signals.size === 0;
  }

  get hasWrites(): boolean {
    return this.#writes.size > 0;
  }

  /** Cells written. */
  get size(): number {
    return this.#writes.size;
  }

  get(address: CellAddress): BufferedWrite | undefined {
    return this.#writes.get(addressKey(address));
  }

  set(write: BufferedWrite): void {
    const key = addressKey(write);
    const before = this.#writes.get(key);
    this.#grow(writeBytes(write) - (before === undefined ? 0 : writeBytes(before)));
    this.#writes.set(key, write);
    this.#sorted.delete(write.table);
  }

  notify(signal: CellAddress): void {
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
    return [...this.#signals.values()];
  }

  /** All writes, by table, row and column. */
  all(): readonly BufferedWrite[] {
    return [...this.#writes.values()].sort(compareAddresses);
  }

  /** The writes of one table, by row and column. */
  ofTable(table: string): readonly BufferedWrite[] {
    let sorted = this.#sorted.get(table);
    if (sorted === undefined) {
      sorted = [...this.#writes.values()].filter((write) => write.table === table).sort(compareAddresses);
      this.#sorted.set(table, sorted);
    }
    return sorted;
  }

  clear(): void {
    this.#writes.clear();
    this.#signals.clear();
    this.#sorted.clear();
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
