import type { Environment } from "../../environment/index.js";
import type { RowStore } from "../../store/index.js";
import { hintTable } from "../../transaction/index.js";
import { bucketPrefix, buckets, type StandingHint } from "../hint/hint.js";

const maxSplits = 256;
const splitsEveryMs = 60_000;
const maxRemembered = 64;
/** Rows of one page that are remembered. */
const rememberedOfPage = 4;

export interface ScanPositionsOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  /** With which all hints of the observer begin. */
  readonly prefix: Uint8Array;
}

/**
 * Random places among the hints of one observer (the paper, section 2.4: a random tablet, and a
 * random key in it): the store's own split points, rows that were seen, and any place of any
 * bucket.
 */
export class ScanPositions {
  readonly #options: ScanPositionsOptions;
  readonly #rows: Uint8Array[] = [];
  #splits: readonly Uint8Array[] = [];
  #splitsAt = Number.NEGATIVE_INFINITY;

  constructor(options: ScanPositionsOptions) {
    this.#options = options;
  }

  /** Remembers some of the rows that a page showed: there are likely to be more around them. */
  learn(hints: readonly StandingHint[]): void {
    for (let count = 0; count < Math.min(rememberedOfPage, hints.length); count++) {
      const { row } = hints[this.#below(hints.length)]!.address;
      const slot = this.#rows.length < maxRemembered ? this.#rows.length : this.#below(maxRemembered);
      // The page's memory is not to be kept for one row of it.
      this.#rows[slot] = Buffer.from(row);
    }
  }

  async next(): Promise<Uint8Array> {
    await this.#readSplits();
    const kinds = [this.#splits, this.#rows].filter((rows) => rows.length > 0);
    const rows = kinds[this.#below(kinds.length + 1)];
    return rows === undefined ? this.#anywhere() : rows[this.#below(rows.length)]!;
  }

  async #readSplits(): Promise<void> {
    const { store, environment, prefix } = this.#options;
    const now = environment.monotonic();
    if (now - this.#splitsAt < splitsEveryMs) return;
    this.#splitsAt = now;
    const all = await store.splitPoints(hintTable, maxSplits);
    this.#splits = all.filter((row) => Buffer.compare(row.subarray(0, prefix.length), prefix) === 0);
  }

  #anywhere(): Uint8Array {
    const bucket = bucketPrefix(this.#options.prefix, this.#below(buckets));
    return Buffer.concat([bucket, Buffer.of(this.#below(256), this.#below(256))]);
  }

  #below(count: number): number {
    return Math.floor(this.#options.environment.random() * count);
  }
}
