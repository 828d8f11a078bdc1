import type { Environment } from "../../environment/index.js";
import type { RowStore } from "../../store/index.js";
import { hintTable } from "../../transaction/index.js";
import { bucketPrefix, buckets, type StandingHint } from "../hint/hint.js";

const maxSplits = 256;
const splitsEveryMs = 60_000;
const maxRemembered = 64;
/** How many rows of one page to remember. */
const rememberedOfPage = 4;

export interface ScanPositionsOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  /** The prefix of all hints of the observer. */
  readonly prefix: Uint8Array;
}

/**
 * Draws random positions among the hints of one observer. The paper uses a random tablet and a
 * random key in it (section 2.4). This class draws from the store's split points, from rows that
 * were seen before, and from all positions of all buckets.
 */
export class ScanPositions {
  readonly #options: ScanPositionsOptions;
  readonly #rows: Uint8Array[] = [];
  #splits: readonly Uint8Array[] = [];
  #splitsAt = Number.NEGATIVE_INFINITY;

  constructor(options: ScanPositionsOptions) {
    this.#options = options;
  }

  /** Remembers some rows of a page, since more hints are likely near them. */
  learn(hints: readonly StandingHint[]): void {
    for (let count = 0; count < Math.min(rememberedOfPage, hints.length); count++) {
      const { row } = hints[this.#below(hints.length)]!.address;
      const slot = this.#rows.length < maxRemembered ? this.#rows.length : this.#below(maxRemembered);
      // Copied, so that one remembered row does not keep the whole page in memory.
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
