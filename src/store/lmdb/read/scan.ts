import { readTimestamp } from "../../bytes.js";
import type { Columns } from "../../cell.js";
import { firstWanted, lastWantedBound, wantedRange, wantsAll } from "../../columns.js";
import { keySum } from "../record/checksum.js";
import type { Databases } from "../record/databases.js";
import { countNuls, fitsKey, longestEncodedKey } from "../record/key.js";
import { flags, newestEnd, newestStart, openEntry } from "../record/layout.js";
import { damagedKey, EntryWalk, unescapeTo, type WalkBounds } from "./entry-walk.js";

/**
 * The copies of one page share chunks of memory. The first chunk is small, for scans that end
 * early.
 */
const firstChunkBytes = 4_096;
/**
 * 64 KiB: the size to which chunks grow. A copy longer than a quarter of this gets separate memory.
 */
const lastChunkBytes = 65_536;
const noBytes = Buffer.alloc(0);

/**
 * Hold the encoded row and column of the current entry. All scans share them, because each scan
 * ends before the next begins.
 */
const rowBytes = new Uint8Array(longestEncodedKey);
const columnBytes = new Uint8Array(longestEncodedKey);

/**
 * Walks over cells of a table in either direction, for pages of rows. It reads keys and values in
 * LMDB's own memory, and copies only what a page shows: a row once, a repeated column once, and a
 * value if it is wanted.
 */
export class CellScan extends EntryWalk {
  // The following fields hold for an entry that is wanted.
  flags = 0;
  /** Timestamp of the newest write record, or -1 if there is none. */
  timestamp = -1;
  /**
   * A copy of the newest write record. Empty if it is outside the entry or above the read
   * timestamp.
   */
  bytes: Buffer = noBytes;
  /** Number of the entry's row in this walk, from 1. */
  rowNumber = 0;

  readonly #prefix: Uint8Array;
  readonly #columns: Columns;
  readonly #all: boolean;
  readonly #at: number;
  /** Length in {@link rowBytes} of the encoded row, including its end mark. */
  #rowLength = 0;
  #rowNuls = 0;
  #row: Buffer | undefined;
  /** Length in {@link columnBytes} of the encoded column. */
  #columnLength = -1;
  #column: Uint8Array = noBytes;
  #columnWanted = false;
  #keySum = 0;
  #chunk = noBytes;
  #chunkUsed = 0;

  /** The scan does not copy write records above `at`. */
  constructor(
    databases: Databases,
    prefix: Uint8Array,
    columns: Columns,
    at: number,
    bounds: WalkBounds,
    reverse = false,
  ) {
    super(databases, bounds, reverse);
    this.#prefix = prefix;
    this.#columns = columns;
    this.#all = wantsAll(columns);
    this.#at = at;
  }

  /** A copy of the entry's row, shared by all its columns. */
  get row(): Buffer {
    this.#row ??= this.#unescape(rowBytes, this.#rowLength - 2, this.#rowNuls);
    return this.#row;
  }

  /** A copy of the entry's column, shared while the column repeats. */
  get column(): Uint8Array {
    return this.#column;
  }

  /** LMDB's binding calls this for each entry, before {@link value}. */
  key(target: Uint8Array, start: number, end: number): void {
    const from = start + this.#prefix.length;
    const columnStart = this.#sameRow(target, from, end)
      ? from + this.#rowLength
      : this.#enterRow(target, from, end);
    if (!this.#sameColumn(target, columnStart, end)) this.#enterColumn(target, columnStart, end);
    this.wanted = this.#columnWanted;
    if (this.wanted) this.#keySum = keySum(target, start, end);
  }

  value(entry: Uint8Array, recordLength: number): void {
    if (!this.wanted) return;
    const length = openEntry(entry, recordLength, this.#keySum);
    this.flags = entry[0]!;
    this.bytes = noBytes;
    if ((this.flags & flags.write) === 0) {
      this.timestamp = -1;
      return;
    }
    this.timestamp = readTimestamp(entry, 1);
    const start = newestStart(this.flags);
    if (length > start && this.timestamp <= this.#at) {
      const copy = this.#take(newestEnd(entry, length) - start);
      if (copy.length > 48) copy.set(new Uint8Array(entry.buffer, entry.byteOffset + start, copy.length));
      else for (let i = 0; i < copy.length; i++) copy[i] = entry[start + i]!;
      this.bytes = copy;
    }
  }

  protected narrow({ low, high }: WalkBounds): boolean {
    const column = this.#unescape(
      columnBytes,
      this.#columnLength,
      countNuls(columnBytes, this.#columnLength),
    );
    const wanted = (this.reverse ? lastWantedBound : firstWanted)(this.#columns, column);
    if (wanted !== undefined && !fitsKey(this.row, wanted)) return false;
    if (this.reverse) high.cell(this.#prefix, this.row, wanted);
    else if (wanted === undefined) low.rowEnd(this.#prefix, this.row);
    else low.cell(this.#prefix, this.row, wanted);
    return true;
  }

  #sameRow(target: Uint8Array, from: number, end: number): boolean {
    const length = this.#rowLength;
    if (length === 0 || from + length > end) return false;
    for (let i = length - 1; i >= 0; i--) if (target[from + i] !== rowBytes[i]) return false;
    return true;
  }

  /** Copies the encoded row, including its end mark. Returns the place of the column. */
  #enterRow(target: Uint8Array, from: number, end: number): number {
    let length = 0;
    let nuls = 0;
    for (;;) {
      if (from + length >= end) throw this.#noKey();
      const byte = target[from + length]!;
      rowBytes[length++] = byte;
      if (byte !== 0) continue;
      if (from + length >= end) throw this.#noKey();
      const mark = target[from + length]!;
      rowBytes[length++] = mark;
      if (mark === 1) break;
      if (mark !== 0xff) throw this.#noKey();
      nuls++;
    }
    this.#rowLength = length;
    this.#rowNuls = nuls;
    this.#row = undefined;
    this.rowNumber++;
    return from + length;
  }

  /**
   * The error for a key without a valid row. Also clears the row, so that the next entry's row is
   * read in full.
   */
  #noKey(): Error {
    this.#rowLength = 0;
    return damagedKey();
  }

  #sameColumn(target: Uint8Array, from: number, end: number): boolean {
    if (this.#columnLength !== end - from) return false;
    for (let i = this.#columnLength - 1; i >= 0; i--) if (target[from + i] !== columnBytes[i]) return false;
    return true;
  }

  #enterColumn(target: Uint8Array, from: number, end: number): void {
    const length = end - from;
    for (let i = 0; i < length; i++) columnBytes[i] = target[from + i]!;
    this.#columnLength = length;
    const used = this.#chunkUsed;
    this.#column = this.#unescape(columnBytes, length, countNuls(columnBytes, length));
    this.#columnWanted = true;
    if (this.#all) return;
    const range = wantedRange(this.#columns, this.#column);
    this.#columnWanted = range !== undefined;
    if (range === undefined || !("exact" in range)) return;
    this.#chunkUsed = Math.min(used, this.#chunkUsed);
    this.#column = range.exact;
  }

  /** A decoded copy of the first `length` bytes, of which `nuls` are escaped NULs. */
  #unescape(source: Uint8Array, length: number, nuls: number): Buffer {
    const copy = this.#take(length - nuls);
    if (nuls > 0) unescapeTo(source, 0, length, copy);
    else for (let i = 0; i < length; i++) copy[i] = source[i]!;
    return copy;
  }

  /** Reserves `length` bytes for a copy. */
  #take(length: number): Buffer {
    if (length > lastChunkBytes / 4) return Buffer.allocUnsafeSlow(length);
    if (this.#chunkUsed + length > this.#chunk.length) {
      const next = Math.min(Math.max(firstChunkBytes, this.#chunk.length * 4), lastChunkBytes);
      this.#chunk = Buffer.allocUnsafeSlow(Math.max(next, length));
      this.#chunkUsed = 0;
    }
    const start = this.#chunkUsed;
    this.#chunkUsed += length;
    return this.#chunk.subarray(start, start + length);
  }
}
