import type { CellAddress, HandledCell, Hint } from "../../transaction/index.js";

/** An observer that may have to handle a changed cell. */
export type RecentHint = Pick<Hint, "observer" | "cell">;

/** A commit of this process. */
export interface RecentCommit {
  readonly commitTimestamp: number;
  /** The hints that it left: one for each observer of each changed cell. */
  readonly hints: readonly RecentHint[];
  /** What it handled, if it was the run of an observer. Otherwise empty. */
  readonly handled: readonly HandledCell[];
}

/**
 * The last commits of this process. With them, the first `db.settled` knows what a commit changed
 * that was made just before, when no feed had it yet.
 *
 * They are written one behind the other into a block of bytes. When it is full, the block before it
 * is used again. So they never take more than two blocks, keep no buffer of a transaction alive,
 * and are no work for the garbage collector.
 */
export class RecentCommits {
  readonly #blockBytes: number;
  #current = new Block(0);
  #previous = new Block(0);
  /** The names of observers and tables. A block has their places in this list. */
  readonly #names: string[] = [];
  readonly #places = new Map<string, number>();

  /** @param blockBytes - A commit that takes more is not remembered. */
  constructor(blockBytes = 512 * 1_024) {
    this.#blockBytes = blockBytes;
  }

  add(hints: readonly RecentHint[], commitTimestamp: number, handled: readonly HandledCell[]): void {
    let size = commitSize;
    for (const hint of hints) size += sizeOf(hint.cell);
    for (const { cell } of handled) size += sizeOf(cell) + handledSize;
    if (size > this.#blockBytes) return;
    const block = this.#withRoom(size);
    block.putNumber(commitTimestamp);
    block.putInt(size);
    block.putInt(hints.length);
    block.putInt(handled.length);
    for (const { observer, cell } of hints) this.#put(block, observer, cell);
    for (const { observer, cell, upTo, isParked } of handled) {
      this.#put(block, observer, cell);
      block.putNumber(upTo);
      block.putInt(isParked ? 1 : 0);
    }
  }

  /** The commit with this timestamp. Undefined if this process did not make it, or has forgotten it. */
  find(commitTimestamp: number): RecentCommit | undefined {
    for (const commit of this.#commits((timestamp) => timestamp === commitTimestamp)) return commit;
    return undefined;
  }

  /** The runs among them, oldest first. */
  runs(): readonly RecentCommit[] {
    return [...this.#commits(() => true)].filter(({ handled }) => handled.some(({ isParked }) => !isParked));
  }

  #withRoom(size: number): Block {
    if (this.#current.room < size) {
      const oldest = this.#previous;
      this.#previous = this.#current;
      // Only commits make the blocks, so a database without commits has none.
      this.#current = oldest.bytes.length === 0 ? new Block(this.#blockBytes) : oldest;
      this.#current.end = 0;
    }
    return this.#current;
  }

  #put(block: Block, observer: string, { table, row, column }: CellAddress): void {
    block.putInt(this.#placeOf(observer));
    block.putInt(this.#placeOf(table));
    block.putBytes(row);
    block.putBytes(column);
  }

  #placeOf(name: string): number {
    let place = this.#places.get(name);
    if (place === undefined) {
      place = this.#names.push(name) - 1;
      this.#places.set(name, place);
    }
    return place;
  }

  *#commits(isWanted: (commitTimestamp: number) => boolean): Generator<RecentCommit> {
    for (const { bytes, end } of [this.#previous, this.#current]) {
      for (let start = 0; start < end; start += bytes.readUInt32LE(start + 8)) {
        if (isWanted(bytes.readDoubleLE(start))) yield this.#read(new Taker(bytes, start));
      }
    }
  }

  #read(taker: Taker): RecentCommit {
    const commitTimestamp = taker.number();
    taker.int();
    const hintCount = taker.int();
    const handledCount = taker.int();
    const hints = Array.from({ length: hintCount }, () => this.#readHint(taker));
    const handled = Array.from({ length: handledCount }, () => ({
      ...this.#readHint(taker),
      upTo: taker.number(),
      isParked: taker.int() === 1,
    }));
    return { commitTimestamp, hints, handled };
  }

  #readHint(taker: Taker): RecentHint {
    const observer = this.#names[taker.int()]!;
    const table = this.#names[taker.int()]!;
    return { observer, cell: { table, row: taker.bytes(), column: taker.bytes() } };
  }
}

/** Bytes of a commit without its cells: its timestamp, its size, how many hints, how many handled cells. */
const commitSize = 8 + 4 + 4 + 4;
/** Bytes of what a run adds to a cell that it handled. */
const handledSize = 8 + 4;

/** Bytes of a cell with its observer: two names and two lengths, and the row and the column. */
function sizeOf({ row, column }: CellAddress): number {
  return 4 * 4 + row.length + column.length;
}

class Block {
  readonly bytes: Buffer;
  readonly #view: DataView;
  end = 0;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafeSlow(length);
    this.#view = new DataView(this.bytes.buffer);
  }

  get room(): number {
    return this.bytes.length - this.end;
  }

  putNumber(value: number): void {
    this.#view.setFloat64(this.end, value, true);
    this.end += 8;
  }

  putInt(value: number): void {
    this.#view.setUint32(this.end, value, true);
    this.end += 4;
  }

  putBytes(bytes: Uint8Array): void {
    const { length } = bytes;
    this.putInt(length);
    // For so few bytes, a loop is faster than `set`.
    if (length > 64) this.bytes.set(bytes, this.end);
    else for (let index = 0; index < length; index++) this.bytes[this.end + index] = bytes[index]!;
    this.end += length;
  }
}

/** Takes one value after another out of a block. */
class Taker {
  readonly #from: Buffer;
  #at: number;

  constructor(from: Buffer, at: number) {
    this.#from = from;
    this.#at = at;
  }

  number(): number {
    this.#at += 8;
    return this.#from.readDoubleLE(this.#at - 8);
  }

  int(): number {
    this.#at += 4;
    return this.#from.readUInt32LE(this.#at - 4);
  }

  /** A copy: the block is used again. */
  bytes(): Buffer {
    const length = this.int();
    this.#at += length;
    return Buffer.from(this.#from.subarray(this.#at - length, this.#at));
  }
}
