import { InvalidArgumentError, LimitExceededError } from "../errors/index.js";
import { compareBytes } from "./bytes.js";
import { checkKey, checkTable, storeLimits } from "./check.js";
import type { Mutation, RowMutation } from "./mutation.js";

/** Bytes before each cell. They have the lengths of its row, its column and its record. */
const headBytes = 8;
/** Stands for the row's length if the previous cell has the same row. No row is this long. */
const sameRow = 0xffff;
const firstBytes = 64 * 1024;
const noBytes = new Uint8Array(0);

/**
 * Cells of one table, in ascending order, each with one write record at the same timestamp. They
 * are packed into one buffer, because a block has thousands of cells. If each were an object, the
 * garbage collector would take more time than all other work of a bulk load, since the objects live
 * until the store has planned them. {@link CellCursor} reads the cells.
 */
export class CellBlock {
  readonly table: string;
  /** The timestamp of all write records. */
  readonly timestamp: number;
  /** Holds the cells. Only {@link CellCursor} reads it. */
  buffer: Buffer = Buffer.allocUnsafeSlow(firstBytes);
  #length = 0;
  #count = 0;
  #lastRow: Uint8Array = noBytes;
  #lastColumn: Uint8Array = noBytes;

  constructor(table: string, timestamp: number) {
    checkTable(table);
    if (!Number.isSafeInteger(timestamp) || timestamp < 0) {
      throw new InvalidArgumentError(`A timestamp must be a safe integer of 0 or more, not ${timestamp}.`);
    }
    this.table = table;
    this.timestamp = timestamp;
  }

  /** Number of cells. */
  get count(): number {
    return this.#count;
  }

  /** Bytes of all cells together. */
  get bytes(): number {
    return this.#length;
  }

  /**
   * Adds a cell after all others. Its write record is `head` followed by `value`, so that the caller
   * need not join them. Copies the bytes. `row` and `column` must stay as they are until the next call.
   *
   * @throws InvalidArgumentError unless the cell sorts after the one before.
   */
  add(row: Uint8Array, column: Uint8Array, head: Uint8Array, value: Uint8Array): void {
    const rowOrder = row === this.#lastRow ? 0 : compareBytes(row, this.#lastRow);
    const isSameRow = this.#count > 0 && rowOrder === 0;
    const order = isSameRow ? compareBytes(column, this.#lastColumn) : rowOrder;
    if (this.#count > 0 && order <= 0) throw this.#notAscending();
    this.#checkLengths(row, column, head.length + value.length);
    const rowLength = isSameRow ? 0 : row.length;
    this.#reserve(headBytes + rowLength + column.length + head.length + value.length);
    const { buffer } = this;
    let at = this.#length;
    buffer.writeUInt16LE(isSameRow ? sameRow : row.length, at);
    buffer.writeUInt16LE(column.length, at + 2);
    buffer.writeUInt32LE(head.length + value.length, at + 4);
    at += headBytes;
    if (!isSameRow) at = copy(row, buffer, at);
    at = copy(column, buffer, at);
    at = copy(head, buffer, at);
    buffer.set(value, at);
    this.#length = at + value.length;
    this.#count++;
    this.#lastRow = row;
    this.#lastColumn = column;
  }

  /** A copy, which stays as it is when this block is used for other cells. */
  copy(): CellBlock {
    const copied = new CellBlock(this.table, this.timestamp);
    copied.buffer = Buffer.from(this.buffer.subarray(0, this.#length));
    copied.#length = this.#length;
    copied.#count = this.#count;
    copied.#lastRow = Buffer.from(this.#lastRow);
    copied.#lastColumn = Buffer.from(this.#lastColumn);
    return copied;
  }

  /** Removes all cells. The block keeps its memory. */
  clear(): void {
    this.#length = 0;
    this.#count = 0;
    this.#lastRow = noBytes;
    this.#lastColumn = noBytes;
  }

  #checkLengths(row: Uint8Array, column: Uint8Array, bytes: number): void {
    checkKey(this.table, row, column);
    if (bytes <= storeLimits.valueBytes) return;
    throw new LimitExceededError(
      `A value for table ${JSON.stringify(this.table)} has ${bytes} bytes; ` +
        `a store takes at most ${storeLimits.valueBytes}. Divide it.`,
    );
  }

  #notAscending(): InvalidArgumentError {
    return new InvalidArgumentError(
      `The cells of a block must ascend, each once, but a cell of table ${JSON.stringify(this.table)} does not sort ` +
        "after the one before it. Add the cells in order.",
    );
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.buffer.length));
    this.buffer.copy(grown, 0, 0, this.#length);
    this.buffer = grown;
  }
}

/** For a few dozen bytes, a loop is faster than a call of `set`. */
function copy(source: Uint8Array, target: Uint8Array, to: number): number {
  let at = to;
  for (let i = 0; i < source.length; i++) target[at++] = source[i]!;
  return at;
}

/**
 * Walks over the cells of a block. Each field is a place in `buffer`: the row is
 * `buffer[rowStart..rowEnd)`, and the column and the record are likewise.
 */
export class CellCursor {
  readonly buffer: Buffer;
  rowStart = 0;
  rowEnd = 0;
  columnStart = 0;
  columnEnd = 0;
  recordStart = 0;
  recordEnd = 0;
  readonly #end: number;

  constructor({ buffer, bytes }: CellBlock) {
    this.buffer = buffer;
    this.#end = bytes;
  }

  /** Moves to the next cell. Returns false at the end. */
  next(): boolean {
    const { buffer } = this;
    const at = this.recordEnd;
    if (at >= this.#end) return false;
    const rowLength = buffer[at]! | (buffer[at + 1]! << 8);
    this.columnStart = at + headBytes;
    if (rowLength !== sameRow) {
      this.rowStart = this.columnStart;
      this.rowEnd = this.rowStart + rowLength;
      this.columnStart = this.rowEnd;
    }
    this.columnEnd = this.columnStart + (buffer[at + 2]! | (buffer[at + 3]! << 8));
    this.recordStart = this.columnEnd;
    this.recordEnd = this.recordStart + buffer.readUInt32LE(at + 4);
    return true;
  }
}

/** The cells of a block as mutations without guards, one for each row. The bytes are copies. */
export function rowsOfBlock(block: CellBlock): readonly RowMutation[] {
  const rows: { table: string; row: Uint8Array; guards: []; mutations: Mutation[] }[] = [];
  const { table, timestamp } = block;
  const cursor = new CellCursor(block);
  let rowStart = -1;
  while (cursor.next()) {
    const bytes = (from: number, to: number) => Buffer.from(cursor.buffer.subarray(from, to));
    if (cursor.rowStart !== rowStart) {
      rowStart = cursor.rowStart;
      rows.push({ table, row: bytes(rowStart, cursor.rowEnd), guards: [], mutations: [] });
    }
    const column = bytes(cursor.columnStart, cursor.columnEnd);
    const value = bytes(cursor.recordStart, cursor.recordEnd);
    rows.at(-1)!.mutations.push({ type: "put", column, part: "write", timestamp, value });
  }
  return rows;
}
