import type { SeededRandom } from "percolatordb/testing";

/** Buckets of an observer, as the library has them, and places in a bucket that the model tells apart. */
export const buckets = 64;
const placesOfBucket = 256;
/** Places are counted together in groups, so that empty ones are passed by. */
const placesOfGroup = 16;
export const placesOfObserver = buckets * placesOfBucket;

/** A change that an observer is due on. */
export interface ModelHint {
  readonly observer: number;
  readonly place: number;
  readonly createdAt: number;
  /** Its index in its place's list; -1 where it does not stand. */
  index: number;
  /** A run on it has committed. */
  isDone: boolean;
  /** A run has its acknowledgment locked. */
  isLocked: boolean;
  /** Who has claimed it at the coordinator. */
  claimant: unknown;
}

/** Places of one observer, from `from` to `to`, exclusive. */
export interface Places {
  from: number;
  readonly to: number;
}

/** All hints that stand, in the order of their places. */
export class HintTable {
  readonly #places: ModelHint[][];
  readonly #inBucket: Int32Array;
  readonly #inGroup: Int32Array;
  readonly #ofObserver: Int32Array;
  readonly #random: SeededRandom;
  #size = 0;
  #put = 0;

  constructor(observers: number, random: SeededRandom) {
    this.#places = Array.from({ length: observers * placesOfObserver }, () => []);
    this.#inBucket = new Int32Array(observers * buckets);
    this.#inGroup = new Int32Array((observers * placesOfObserver) / placesOfGroup);
    this.#ofObserver = new Int32Array(observers);
    this.#random = random;
  }

  get size(): number {
    return this.#size;
  }

  /** How many were ever put. */
  get everPut(): number {
    return this.#put;
  }

  standing(observer: number): number {
    return this.#ofObserver[observer]!;
  }

  /** Puts a hint of an observer at a random place. */
  put(observer: number, createdAt: number): ModelHint {
    const place = this.#random.below(placesOfObserver);
    const hint: ModelHint = {
      observer,
      place,
      createdAt,
      index: -1,
      isDone: false,
      isLocked: false,
      claimant: undefined,
    };
    const list = this.#places[observer * placesOfObserver + place]!;
    hint.index = list.length;
    list.push(hint);
    this.#count(hint, 1);
    this.#put++;
    return hint;
  }

  /** Takes a hint away; harmless to repeat. */
  remove(hint: ModelHint): void {
    if (hint.index < 0) return;
    const list = this.#places[hint.observer * placesOfObserver + hint.place]!;
    const last = list.pop()!;
    if (last !== hint) {
      list[hint.index] = last;
      last.index = hint.index;
    }
    hint.index = -1;
    this.#count(hint, -1);
  }

  /** The next hints among some places, at least `limit` where there are so many, and where to go on. */
  page(
    observer: number,
    { from, to }: Places,
    limit: number,
  ): { readonly hints: readonly ModelHint[]; readonly next: number | undefined } {
    const hints: ModelHint[] = [];
    for (let place = from; place < to; ) {
      if (place % placesOfBucket === 0 && this.#inBucket[observer * buckets + bucketOf(place)] === 0) {
        place += placesOfBucket;
        continue;
      }
      if (place % placesOfGroup === 0 && this.#inGroup[groupOf(observer, place)] === 0) {
        place += placesOfGroup;
        continue;
      }
      hints.push(...this.#places[observer * placesOfObserver + place]!);
      place++;
      if (hints.length >= limit && place < to) return { hints, next: place };
    }
    return { hints, next: undefined };
  }

  #count({ observer, place }: ModelHint, by: number): void {
    this.#inBucket[observer * buckets + bucketOf(place)]! += by;
    this.#inGroup[groupOf(observer, place)]! += by;
    this.#ofObserver[observer]! += by;
    this.#size += by;
  }
}

function groupOf(observer: number, place: number): number {
  return Math.floor((observer * placesOfObserver + place) / placesOfGroup);
}

export function bucketOf(place: number): number {
  return Math.floor(place / placesOfBucket);
}

/** The places of a bucket. */
export function placesOf(bucket: number): Places {
  return { from: bucket * placesOfBucket, to: (bucket + 1) * placesOfBucket };
}
