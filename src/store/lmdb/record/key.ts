import { InternalError } from "../../../errors/index.js";
import { isWellFormed } from "../../../schema/index.js";
import { readTimestamp, writeTimestamp, writeUtf8 } from "../../bytes.js";
import type { CellCursor } from "../../cell-block.js";
import { checkTable, keyTooLong, storeLimits } from "../../check.js";
import { keySum, viewOf } from "./checksum.js";

/** LMDB's own limit for a key with pages of 4 KB, in bytes. */
const longestKey = 1_978;
/** Buffer size that also holds keys that are too long, until they are refused. */
const maxBytes = 2 * longestKey + storeLimits.tableBytes + 64;

/**
 * The most bytes that {@link encodeCell} writes, before it refuses a key that is too long: each byte
 * of row and column may be a NUL.
 */
export const maxCellKeyBytes = maxBytes;

/** The most bytes of a key in LMDB, and therefore of a part of a key. */
export const longestEncodedKey = longestKey;

/** A bound may have a few more bytes than the key that it follows. */
const boundSlack = 4;

const noBytes = new Uint8Array(0);
const latestTimestamp = Number.MAX_SAFE_INTEGER;
const prefixes = new Map<string, Uint8Array>();

/**
 * The beginning of all keys of a table: its name and NUL. A name has no NUL, so no prefix begins
 * with another. The tilde of system tables becomes NUL, so these tables sort first. The other
 * tables are then at the end of the tree, where LMDB fills pages completely if data is loaded in
 * order. Throws for an invalid table name.
 */
export function tablePrefix(table: string): Uint8Array {
  const known = prefixes.get(table);
  if (known !== undefined) return known;
  checkTable(table);
  const prefix = Buffer.from(`${table.startsWith("~") ? `\0${table.slice(1)}` : table}\0`);
  if (prefixes.size < 10_000) prefixes.set(table, prefix);
  return prefix;
}

/** The bytes of a key: `bytes[start..start + length)`. */
export interface RecordKey {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly length: number;
}

/**
 * A key that the caller builds up and reuses, so that reads allocate none. A cell's key is
 * `table 00 esc(row) 00 01 esc(column)`, where esc replaces 00 with 00 FF. Keys sort by row bytes,
 * then by column bytes. If row A is a prefix of row B, A sorts first, because its 00 01 sorts
 * before B's next byte or 00 FF.
 */
export class Key implements RecordKey {
  readonly bytes: Buffer = Buffer.alloc(maxBytes);
  readonly start = 0;
  length = 0;
  /** Length of the cell's own key, without what was appended to it. */
  cellLength = 0;
  /** Length of the key whose checksum `#sum` is. 0 if the key has changed since. */
  #summed = 0;
  #sum = 0;

  /** Sets bytes that are not a cell's key. */
  raw(bytes: Uint8Array): this {
    this.#summed = 0;
    this.bytes.set(bytes);
    this.length = bytes.length;
    this.cellLength = bytes.length;
    return this;
  }

  /**
   * Sets the cell of `row` and `column`. Without a column, sets the position before the row's first
   * cell.
   */
  cell(prefix: Uint8Array, row: Uint8Array, column: Uint8Array | undefined): this {
    this.#summed = 0;
    this.length = encodeCell(prefix, row, column, this.bytes, 0);
    this.cellLength = this.length;
    return this;
  }

  /** The checksum of the key: see `seal.ts`. */
  get sum(): number {
    if (this.#summed !== this.length) {
      this.#sum = keySum(this.bytes, 0, this.length);
      this.#summed = this.length;
    }
    return this.#sum;
  }

  /** Sets the same cell as `other`. */
  sameCell(other: Key): this {
    this.#summed = 0;
    for (let i = 0; i < other.cellLength; i++) this.bytes[i] = other.bytes[i]!;
    this.length = other.cellLength;
    this.cellLength = other.cellLength;
    return this;
  }

  /** Sets the position after the last column of `row`. */
  rowEnd(prefix: Uint8Array, row: Uint8Array): this {
    this.cell(prefix, row, undefined);
    this.bytes[this.length - 1] = 2;
    return this;
  }

  /** Sets the first position of the table. */
  tableStart(prefix: Uint8Array): this {
    this.#summed = 0;
    this.bytes.set(prefix);
    this.length = prefix.length;
    return this;
  }

  /** Sets the position after the table. */
  tableEnd(prefix: Uint8Array): this {
    this.tableStart(prefix);
    this.bytes[this.length - 1] = 1;
    return this;
  }

  /** Removes what was appended to the cell's key. */
  cellOnly(): this {
    this.length = this.cellLength;
    return this;
  }

  /** Appends the timestamp of an older write record. Newer ones sort first. */
  version(timestamp: number): this {
    this.#summed = 0;
    this.length = appendVersion(this.bytes, this.cellLength, timestamp);
    return this;
  }

  /**
   * Appends a part and the timestamp of one of its versions. Within a part, newer versions sort
   * first.
   */
  part(code: number, timestamp: number): this {
    this.#suffix();
    this.bytes[this.length++] = code;
    return this.timestamp(timestamp);
  }

  /** Sets the position after the cell's last version. */
  versionsEnd(): this {
    this.#suffix();
    this.bytes[this.length - 1] = 2;
    return this;
  }

  /** Sets the position after the last version of one of the cell's parts. */
  partEnd(code: number): this {
    this.#suffix();
    this.bytes[this.length++] = code + 1;
    return this;
  }

  /** Appends an inverted timestamp, so that the newest sorts first. */
  timestamp(timestamp: number): this {
    this.#summed = 0;
    this.length = appendTimestamp(this.bytes, this.length, timestamp);
    return this;
  }

  #suffix(): this {
    this.#summed = 0;
    this.length = this.cellLength;
    this.bytes[this.length++] = 0;
    this.bytes[this.length++] = 1;
    return this;
  }

  /** Less than 0 if this key sorts before `other`. */
  compare(other: Key): number {
    return this.bytes.compare(other.bytes, 0, other.length, 0, this.length);
  }
}

/** How many bytes {@link appendVersion} adds to a cell's key. */
export const versionKeyBytes = 10;

/**
 * Appends the timestamp of an older write record to a cell's key that ends at `end`. Returns the
 * position after it.
 */
export function appendVersion(target: Uint8Array, end: number, timestamp: number): number {
  target[end] = 0;
  target[end + 1] = 1;
  return appendTimestamp(target, end + 2, timestamp);
}

/** Appends an inverted timestamp, so that the newest sorts first. */
function appendTimestamp(target: Uint8Array, end: number, timestamp: number): number {
  writeTimestamp(target, end, latestTimestamp - Math.min(timestamp, latestTimestamp));
  return end + 8;
}

/**
 * Writes the key of a cell at `start`. Without a column, writes the position before the row's first
 * cell. Returns the position after it.
 */
export function encodeCell(
  prefix: Uint8Array,
  row: Uint8Array,
  column: Uint8Array | undefined,
  target: Uint8Array,
  start: number,
  rowLength = row.length,
): number {
  const rowAndColumn = rowLength + (column === undefined ? 0 : column.length);
  if (rowAndColumn > longestKey) throw tooLong(prefix, rowAndColumn);
  let at = start;
  for (let i = 0; i < prefix.length; i++) target[at++] = prefix[i]!;
  at = escapeInto(row, 0, rowLength, target, at);
  target[at++] = 0;
  target[at++] = 1;
  if (column !== undefined) at = escapeInto(column, 0, column.length, target, at);
  const bytes = at - start - prefix.length - 2;
  if (bytes > storeLimits.keyBytes + boundSlack) throw tooLong(prefix, bytes);
  return at;
}

/** Whether {@link encodeCell} accepts a row and a column. Both may be legal, but with others. */
export function fitsKey(row: Uint8Array, column: Uint8Array): boolean {
  const most = storeLimits.keyBytes + boundSlack;
  if (2 * (row.length + column.length) <= most) return true;
  return row.length + countNuls(row, row.length) + column.length + countNuls(column, column.length) <= most;
}

export function countNuls(bytes: Uint8Array, length: number): number {
  let nuls = 0;
  for (let i = 0; i < length; i++) if (bytes[i] === 0) nuls++;
  return nuls;
}

/**
 * Like {@link encodeCell}, for a row that is the UTF-8 of a string. Encodes the string at its place
 * in the key, which is faster than a loop over its bytes. A row with a NUL is rare, and is encoded
 * again with the NUL escaped. Throws if the string is not well-formed.
 */
function encodeTextCell(
  prefix: Uint8Array,
  row: string,
  column: Uint8Array,
  target: Uint8Array,
  start: number,
): number {
  // No character takes more than three bytes, and the target must have room for all of them.
  if (row.length > storeLimits.keyBytes) throw tooLong(prefix, row.length);
  let at = start;
  for (let i = 0; i < prefix.length; i++) target[at++] = prefix[i]!;
  const end = at + writeUtf8(target, row, at);
  // A row of ASCII is well-formed.
  if (end - at !== row.length && !isWellFormed(row)) throw new InternalError("A row has a lone surrogate.");
  if (end - at + column.length > longestKey || hasNul(viewOf(target), at, end))
    return encodeCell(prefix, Buffer.from(row), column, target, start);
  at = end;
  target[at++] = 0;
  target[at++] = 1;
  at = escapeInto(column, 0, column.length, target, at);
  const bytes = at - start - prefix.length - 2;
  if (bytes > storeLimits.keyBytes + boundSlack) throw tooLong(prefix, bytes);
  return at;
}

/** Whether a byte of a range is 0. Looks at four bytes at a time. */
function hasNul(view: DataView, start: number, end: number): boolean {
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const word = view.getInt32(at, true);
    if (((word - 0x01010101) & ~word & 0x80808080) !== 0) return true;
  }
  for (; at < end; at++) if (view.getUint8(at) === 0) return true;
  return false;
}

/** Writes the key of the cell at `cursor` to `start`. Returns the position after it. */
export function encodeCellAt(
  prefix: Uint8Array,
  cursor: CellCursor,
  target: Uint8Array,
  start: number,
): number {
  const { buffer } = cursor;
  let at = start;
  for (let i = 0; i < prefix.length; i++) target[at++] = prefix[i]!;
  at = escapeInto(buffer, cursor.rowStart, cursor.rowEnd, target, at);
  target[at++] = 0;
  target[at++] = 1;
  return escapeInto(buffer, cursor.columnStart, cursor.columnEnd, target, at);
}

/**
 * Copies `source[from..to)` to `at`, with each NUL as 00 FF. Returns the position after the copy.
 */
function escapeInto(source: Uint8Array, from: number, to: number, target: Uint8Array, start: number): number {
  let at = start;
  for (let i = from; i < to; i++) {
    const byte = source[i]!;
    target[at++] = byte;
    if (byte === 0) target[at++] = 0xff;
  }
  return at;
}

function tooLong(prefix: Uint8Array, bytes: number): Error {
  return keyTooLong(Buffer.from(prefix).toString("utf8", 0, prefix.length - 1), bytes);
}

/** Reads the inverted timestamp at the end of a key. */
export function timestampOfKey(source: Uint8Array, end: number): number {
  return latestTimestamp - readTimestamp(source, end - 8);
}

/** The cell to which a key of LMDB belongs. Undefined if the key belongs to no cell. */
export function cellOfKey(
  key: Buffer,
): { readonly table: string; readonly row: Buffer; readonly column: Buffer } | undefined {
  const parts: number[][] = [[], []];
  const prefixEnd = key.indexOf(0, 1);
  if (prefixEnd < 0) return undefined;
  let part = 0;
  for (let i = prefixEnd + 1; i < key.length && part < 2; i++) {
    const byte = key[i]!;
    // 00 FF is a NUL of the row or column, and 00 01 ends either.
    if (byte === 0 && key[++i] !== 0xff) part++;
    else parts[part]!.push(byte);
  }
  if (part === 0) return undefined;
  const name = key.toString("utf8", 0, prefixEnd);
  const table = name.startsWith("\0") ? `~${name.slice(1)}` : name;
  return { table, row: Buffer.from(parts[0]!), column: Buffer.from(parts[1]!) };
}

/**
 * The address of a cell, for a read of one cell. {@link writeKey} writes the cell's key directly
 * into LMDB's buffer. An address is reused like a {@link Key}.
 */
export class CellAddress {
  prefix: Uint8Array = noBytes;
  row: Uint8Array = noBytes;
  rowLength = 0;
  /** The row as text. If it is set, `row` is not used. */
  text: string | undefined = undefined;
  column: Uint8Array = noBytes;

  /** The checksum of the key when LMDB last asked for it: see `seal.ts`. */
  sum = 0;

  /** Sets the cell. Its row is the first `rowLength` bytes of `row`. */
  of(prefix: Uint8Array, row: Uint8Array, column: Uint8Array, rowLength = row.length): this {
    this.prefix = prefix;
    this.row = row;
    this.rowLength = rowLength;
    this.text = undefined;
    this.column = column;
    return this;
  }

  /** Sets the cell. Its row is the UTF-8 of a string. */
  ofText(prefix: Uint8Array, text: string, column: Uint8Array): this {
    this.prefix = prefix;
    this.text = text;
    this.column = column;
    return this;
  }
}

/** Where LMDB's binding queues instructions for its write thread. The names are the binding's. */
export interface InstructionBuffer {
  readonly uint32: Uint32Array & { readonly address: number };
  readonly float64: Float64Array;
  /** Where the next instruction begins, in units of 8 bytes. */
  readonly position: number;
}

/** A key in `meta` that notes where the binding has written it. */
class QueuedKey implements RecordKey {
  readonly bytes: Buffer;
  readonly start = 0;
  readonly length: number;
  /** The buffer with the key, and the position of the key in it, in bytes. */
  target: InstructionBuffer | undefined;
  targetStart = 0;

  constructor(name: string) {
    this.bytes = Buffer.from(name);
    this.length = this.bytes.length;
  }

  write(target: Uint8Array, start: number): number {
    this.target = target as Uint8Array & InstructionBuffer;
    this.targetStart = start;
    target.set(this.bytes, start);
    return start + this.length;
  }
}

/** The key of an instruction that others replace: see `instructions.ts`. */
export const placeholder = new QueuedKey("drop");

/**
 * The key of the condition on which a draft is written: see `queueChanges`. No record has it. It is
 * as long as the key of the format, which every database has.
 */
export const draftCondition = new QueuedKey("absent");

/** Writes a key into LMDB's buffer, without a buffer in between. */
export function writeKey(key: RecordKey | CellAddress, target: Uint8Array, start: number): number {
  if (key instanceof QueuedKey) return key.write(target, start);
  if (key instanceof CellAddress) {
    const { prefix, text, column } = key;
    const end =
      text === undefined
        ? encodeCell(prefix, key.row, column, target, start, key.rowLength)
        : encodeTextCell(prefix, text, column, target, start);
    key.sum = keySum(target, start, end);
    return end;
  }
  const source = key.bytes;
  const from = key.start;
  const length = key.length;
  for (let i = 0; i < length; i++) target[start + i] = source[from + i]!;
  return start + length;
}
