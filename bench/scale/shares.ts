import type { SeededRandom } from "percolatordb/testing";
import { bucketOf, buckets, type ModelHint } from "./hint-table.js";

/** Which worker has which bucket of each observer: each bucket belongs to one, drawn evenly, as rendezvous hashing does. */
export class BucketAssignment {
  readonly #owners: readonly number[];
  readonly #owned = new Map<string, number[]>();

  constructor(workers: number, observers: number, random: SeededRandom) {
    this.#owners = Array.from({ length: observers * buckets }, () => random.below(workers));
    for (const [place, owner] of this.#owners.entries()) {
      const key = `${owner}/${Math.floor(place / buckets)}`;
      const owned = this.#owned.get(key);
      if (owned === undefined) this.#owned.set(key, [place % buckets]);
      else owned.push(place % buckets);
    }
  }

  owner({ observer, place }: ModelHint): number {
    return this.#owners[observer * buckets + bucketOf(place)]!;
  }

  /** The buckets of an observer that a worker has. */
  owned(worker: number, observer: number): readonly number[] {
    return this.#owned.get(`${worker}/${observer}`) ?? [];
  }

  /** Workers that have any. */
  get owners(): number {
    return new Set(this.#owners).size;
  }
}
