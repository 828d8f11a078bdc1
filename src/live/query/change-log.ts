import type { ChangedCell } from "./read-index.js";

/** A bulk load that was published: its rows are loaded, not written, so it changed a whole table. */
export interface LoadedTable {
  readonly commitTimestamp: number;
  readonly table: string;
}

export type LoggedChange = ChangedCell | LoadedTable;

/** A place in the log. Call `end` when it is no longer needed. */
export interface LogMark {
  readonly place: number;
  end(): void;
}

/**
 * Changes that runs in progress may not have seen. A run reads a snapshot, and registers what it
 * has read when it ends. The log has the changes that the hub found in between.
 */
export class ChangeLog {
  readonly #max: number;
  /** How many need the changes from a place on. */
  readonly #needed = new Map<number, number>();
  /** The place of the first change that is kept. */
  #first = 0;
  #changes: LoggedChange[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#changes.length;
  }

  /** Keeps the changes that are added from now on, or from an earlier mark on. */
  mark(from?: LogMark): LogMark {
    const place = from?.place ?? this.#first + this.#changes.length;
    this.#needed.set(place, (this.#needed.get(place) ?? 0) + 1);
    let isEnded = false;
    const end = () => {
      if (isEnded) return;
      isEnded = true;
      const count = this.#needed.get(place)! - 1;
      if (count > 0) this.#needed.set(place, count);
      else {
        this.#needed.delete(place);
        this.#drop();
      }
    };
    return { place, end };
  }

  add(change: LoggedChange): void {
    if (this.#needed.size === 0) return;
    this.#changes.push(change);
    if (this.#changes.length <= this.#max) return;
    this.#dropUpTo(this.#first + Math.ceil(this.#max / 2));
  }

  /**
   * Whether one of the changes since a mark is as asked. Undefined if some are missing, because there
   * were too many.
   */
  some({ place }: LogMark, isIt: (change: LoggedChange) => boolean): boolean | undefined {
    if (place < this.#first) return undefined;
    for (let at = place - this.#first; at < this.#changes.length; at++) {
      if (isIt(this.#changes[at]!)) return true;
    }
    return false;
  }

  /** Drops what nobody needs. */
  #drop(): void {
    if (this.#changes.length === 0) return;
    let oldest = this.#first + this.#changes.length;
    for (const place of this.#needed.keys()) oldest = Math.min(oldest, place);
    this.#dropUpTo(oldest);
  }

  #dropUpTo(place: number): void {
    if (place <= this.#first) return;
    this.#changes.splice(0, place - this.#first);
    this.#first = place;
  }
}
