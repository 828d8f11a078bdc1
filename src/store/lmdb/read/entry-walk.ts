import { type Databases, type EntryReader, entryReader } from "../record/databases.js";
import { damagedStore } from "../record/errors.js";
import { Key } from "../record/key.js";
import { checkReadable } from "../record/state.js";

/**
 * After this many consecutive unwanted entries, a walk seeks the next position that may be wanted.
 */
const missesBeforeSeek = 6;

/** The bounds of a walk in ascending order: `low` inclusive, `high` exclusive. */
export interface WalkBounds {
  readonly low: Key;
  readonly high: Key;
}

/** All walks share these bounds, because each walk ends before the next begins. */
export const walkBounds: WalkBounds = { low: new Key(), high: new Key() };

/**
 * Iterates over the entries within the bounds. LMDB's binding passes each entry to
 * `entryReader.current`.
 */
export function entriesBetween(
  databases: Databases,
  { low, high }: WalkBounds,
  reverse: boolean,
): Iterator<unknown> {
  const range = reverse
    ? { start: high, end: low, reverse: true, exclusiveStart: true, inclusiveEnd: true }
    : { start: low, end: high };
  return databases.cells.getRange(range)[Symbol.iterator]();
}

/**
 * Walks over entries of a table in either direction, and skips long runs of unwanted ones. All
 * scans of the LMDB store build on this class. A subclass reads each entry in LMDB's own memory.
 * The subclass tells whether the entry is wanted, and where the next wanted entry can be.
 */
export abstract class EntryWalk implements EntryReader {
  /** Whether the entry at which {@link next} stopped is wanted. */
  wanted = false;
  /** Number of entries met. */
  scanned = 0;
  protected readonly reverse: boolean;
  readonly #databases: Databases;
  readonly #bounds: WalkBounds;
  #iterator: Iterator<unknown> | undefined;
  #misses = 0;

  constructor(databases: Databases, bounds: WalkBounds, reverse: boolean) {
    this.#databases = databases;
    this.#bounds = bounds;
    this.reverse = reverse;
    this.#iterator = entriesBetween(databases, bounds, reverse);
  }

  /**
   * LMDB's binding calls this with the key of each entry, before {@link value}. Sets {@link
   * wanted}.
   */
  abstract key(target: Uint8Array, start: number, end: number): void;
  abstract value(entry: Uint8Array, length: number): void;
  /**
   * Narrows the bounds so that the walk continues at the next wanted position after the last entry.
   * Returns false, and leaves the bounds as they are, if the position would be too long for a key.
   */
  protected abstract narrow(bounds: WalkBounds): boolean;

  /** Moves to the next entry, wanted or not. Returns false at the end. */
  next(): boolean {
    if (this.#misses >= missesBeforeSeek) this.#seek();
    if (this.#iterator === undefined) return false;
    entryReader.current = this;
    if (this.#iterator.next().done) {
      this.#iterator = undefined;
      // If LMDB's environment is broken, a turn's first range is empty, without an error. A get throws.
      if (this.scanned === 0) checkReadable(this.#databases);
      return false;
    }
    this.scanned++;
    this.#misses = this.wanted ? 0 : this.#misses + 1;
    return true;
  }

  /** Frees LMDB's cursor. Call it unless {@link next} has returned false. Safe to repeat. */
  close(): void {
    this.#iterator?.return?.();
    this.#iterator = undefined;
  }

  #seek(): void {
    this.#misses = 0;
    if (!this.narrow(this.#bounds)) return;
    this.close();
    const { low, high } = this.#bounds;
    if (low.compare(high) < 0) this.#iterator = entriesBetween(this.#databases, this.#bounds, this.reverse);
  }
}

/**
 * Writes the unescaped bytes to the start of `target`: each 00 FF becomes one NUL. Returns the
 * number of bytes written.
 */
export function unescapeTo(source: Uint8Array, from: number, to: number, target: Uint8Array): number {
  let length = 0;
  for (let i = from; i < to; i++) {
    const byte = source[i]!;
    target[length++] = byte;
    if (byte === 0 && source[++i] !== 0xff) throw damagedKey();
  }
  return length;
}

export function damagedKey(): Error {
  return damagedStore("a key that names no row and column");
}
