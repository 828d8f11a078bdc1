import { compareBytes, successor } from "../../bytes.js";
import { keySum } from "../record/checksum.js";
import type { Databases } from "../record/databases.js";
import { encodeCell, fitsKey, longestEncodedKey } from "../record/key.js";
import { damagedKey, EntryWalk, unescapeTo, type WalkBounds } from "./entry-walk.js";

const noBytes = Buffer.alloc(0);
const plainRow = Buffer.alloc(longestEncodedKey);
const suffixBytes = Buffer.alloc(2 * longestEncodedKey);

/**
 * Walks over entries of a table and recognises one column by the end of its keys. It serves scans
 * of one column and copies nothing. What it shows lies in LMDB's own memory, and is valid only
 * until the next call to LMDB.
 */
export class ColumnScan extends EntryWalk {
  // The following fields hold for an entry of the column.
  /** Holds the row, from `rowStart` to `rowEnd`. */
  keys: Buffer = noBytes;
  rowStart = 0;
  rowEnd = 0;
  /** Holds the cell's entry in its first `length` bytes. */
  entry: Buffer = noBytes;
  length = 0;

  readonly #prefix: Uint8Array;
  readonly #column: Uint8Array;
  /**
   * How all keys of the column end. The mark between row and column occurs nowhere else in a key,
   * so no other key ends this way.
   */
  readonly #suffix: Uint8Array;
  /** LMDB's own buffer with the current key. LMDB overwrites it at the next read. */
  #lent: Uint8Array = noBytes;
  #lentBuffer: Buffer = noBytes;
  #start = 0;
  #end = 0;
  /** Where the column begins in the key of an entry of another column. */
  #columnStart = 0;

  constructor(
    databases: Databases,
    prefix: Uint8Array,
    column: Uint8Array,
    bounds: WalkBounds,
    reverse: boolean,
  ) {
    super(databases, bounds, reverse);
    this.#prefix = prefix;
    this.#column = column;
    this.#suffix = Buffer.from(suffixBytes.subarray(0, encodeCell(noBytes, noBytes, column, suffixBytes, 0)));
  }

  /** LMDB's binding calls this for each entry, before {@link value}. */
  key(target: Uint8Array, start: number, end: number): void {
    const suffix = this.#suffix;
    const from = start + this.#prefix.length;
    const to = end - suffix.length;
    this.#lent = target;
    this.#start = from;
    this.#end = end;
    this.wanted = to >= from && endsWith(target, to, suffix);
    if (this.wanted) this.#showRow(target, from, to);
    else this.#columnStart = this.#findColumn();
  }

  value(entry: Uint8Array, length: number): void {
    this.entry = entry as Buffer;
    this.length = length;
  }

  /** The checksum of the entry's key, from LMDB's own bytes. */
  keySum(): number {
    return keySum(this.#lent, this.#start - this.#prefix.length, this.#end);
  }

  /** A copy of the entry's row. */
  row(): Buffer {
    if (this.wanted) return Buffer.from(this.keys.subarray(this.rowStart, this.rowEnd));
    return unescaped(this.#lent, this.#start, this.#columnStart - 2);
  }

  /** A copy of the entry's column. */
  column(): Uint8Array {
    return this.wanted ? this.#column : unescaped(this.#lent, this.#columnStart, this.#end);
  }

  #showRow(target: Uint8Array, from: number, to: number): void {
    for (let i = from; i < to; i++) {
      if (target[i] === 0) {
        this.keys = plainRow;
        this.rowStart = 0;
        this.rowEnd = unescapeTo(target, from, to, plainRow);
        return;
      }
    }
    if (target !== this.#lentBuffer) {
      this.#lentBuffer = Buffer.isBuffer(target)
        ? target
        : Buffer.from(target.buffer, target.byteOffset, target.byteLength);
    }
    this.keys = this.#lentBuffer;
    this.rowStart = from;
    this.rowEnd = to;
  }

  protected narrow({ low, high }: WalkBounds): boolean {
    const row = this.row();
    const isBefore = compareBytes(this.column(), this.#column) < 0;
    if (this.reverse) {
      const bound = isBefore ? undefined : successor(this.#column);
      if (bound !== undefined && !fitsKey(row, bound)) return false;
      high.cell(this.#prefix, row, bound);
    } else if (isBefore) {
      if (!fitsKey(row, this.#column)) return false;
      low.cell(this.#prefix, row, this.#column);
    } else low.rowEnd(this.#prefix, row);
    return true;
  }

  /** The place in the key where the column begins: after the mark that ends the row. */
  #findColumn(): number {
    const target = this.#lent;
    for (let i = this.#start; i + 1 < this.#end; i++) {
      if (target[i] !== 0) continue;
      const mark = target[++i];
      if (mark === 1) return i + 1;
      if (mark !== 0xff) break;
    }
    throw damagedKey();
  }
}

/** Compares from the end, because a table's columns mostly differ there. */
function endsWith(target: Uint8Array, from: number, suffix: Uint8Array): boolean {
  for (let i = suffix.length - 1; i >= 0; i--) if (target[from + i] !== suffix[i]) return false;
  return true;
}

function unescaped(source: Uint8Array, from: number, to: number): Buffer {
  const target = Buffer.allocUnsafe(to - from);
  return target.subarray(0, unescapeTo(source, from, to, target));
}
