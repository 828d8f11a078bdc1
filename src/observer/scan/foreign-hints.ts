import type { Environment } from "../../environment/index.js";
import { byteString, type RowStore } from "../../store/index.js";
import {
  bucketPrefix,
  buckets,
  type HintRange,
  prefixRange,
  readHints,
  type StandingHint,
} from "../hint/hint.js";

/**
 * Maximum number of hints per look, and of looks per pass. Their product bounds the memory: a
 * pass's hints are remembered until the next pass has ended.
 */
const pageHints = 256;
const looksOfPass = 8;

export interface ForeignHintsOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  /** The prefix of all hints of the observer. */
  readonly prefix: Uint8Array;
  /** Whether a hint belongs to another process's share. */
  readonly isForeign: (hint: StandingHint) => boolean;
  /**
   * The age at which the scanner takes on a hint at present, in milliseconds. The watcher stays on
   * one stretch only until its hints have reached that age.
   */
  readonly oldMs: () => number;
  readonly signal: AbortSignal;
}

/** When a hint was first seen in its current version, and the last pass that saw it. */
interface Sighting {
  readonly timestamp: number;
  readonly since: number;
  pass: number;
}

/** A hint, and for how long it has been seen unchanged. */
export interface AgedHint {
  readonly hint: StandingHint;
  readonly ageMs: number;
}

/**
 * Watches other processes' shares for hints that stay too long. Its memory is bounded, however many
 * hints there are. It watches one stretch of hints at a time, and reads that stretch in repeated
 * passes. It moves to the next stretch when every hint of the previous pass is gone, or when it has
 * watched the stretch for long enough.
 */
export class ForeignHints {
  readonly #options: ForeignHintsOptions;
  readonly #whole: HintRange;
  readonly #seen = new Map<string, Sighting>();
  /** Where the stretch begins. */
  #start: HintRange["start"];
  /** When the first pass over the stretch ended. By then it had seen all hints of the stretch. */
  #seenSince = 0;
  #pass = 0;
  #passSince = 0;
  #looks = 0;
  /**
   * The ranges that the pass has not read yet, up to the end of all hints and around to the start
   * of the stretch. The pass may end before it has read them.
   */
  #left: HintRange[] = [];

  constructor(options: ForeignHintsOptions) {
    this.#options = options;
    this.#whole = prefixRange(options.prefix);
  }

  /** Looks at the next page of hints. */
  async look(): Promise<readonly AgedHint[]> {
    const now = this.#options.environment.monotonic();
    if (this.#looks === 0) this.#beginPass(now);
    const found = (await this.#read()).filter(this.#options.isForeign);
    const aged = found.map((hint) => ({ hint, ageMs: now - this.#see(hint, now) }));
    if (++this.#looks === looksOfPass || this.#left.length === 0) this.#endPass(now);
    return aged;
  }

  #beginPass(now: number): void {
    this.#start ??= { row: this.#anyBucket() };
    this.#pass++;
    this.#passSince = now;
    const { row } = this.#start;
    const { start, end } = this.#whole;
    this.#left = [{ start: this.#start, end }];
    if (Buffer.compare(start!.row, row) < 0) this.#left.push({ start, end: row });
  }

  #anyBucket(): Buffer {
    const { environment, prefix } = this.#options;
    return bucketPrefix(prefix, Math.floor(environment.random() * buckets));
  }

  /** Reads a page of hints. If there are few hints, one page contains all of them. */
  async #read(): Promise<readonly StandingHint[]> {
    const { store, signal } = this.#options;
    const hints: StandingHint[] = [];
    for (let reads = 0; reads < 2 && this.#left.length > 0 && hints.length < pageHints; reads++) {
      const { start, end } = this.#left[0]!;
      const page = await readHints(store, { start, end }, pageHints - hints.length, signal);
      hints.push(...page.hints);
      if (page.next === undefined) this.#left.shift();
      else this.#left[0] = { start: page.next, end };
    }
    return hints;
  }

  /** When this process first saw the hint in its current version. Monotonic time. */
  #see({ address, timestamp }: StandingHint, now: number): number {
    const key = `${byteString(address.row)}\0${byteString(address.column)}`;
    const seen = this.#seen.get(key);
    if (seen !== undefined && seen.timestamp === timestamp) {
      seen.pass = this.#pass;
      return seen.since;
    }
    this.#seen.set(key, { timestamp, since: now, pass: this.#pass });
    return now;
  }

  /** Forgets the hints that the pass did not meet, since they are gone. */
  #endPass(now: number): void {
    let stands = false;
    for (const [key, { pass, since }] of this.#seen) {
      if (pass !== this.#pass) this.#seen.delete(key);
      else if (since < this.#passSince) stands = true;
    }
    this.#looks = 0;
    const next = this.#left[0]?.start;
    if (this.#pass === 1 || next === undefined) this.#seenSince = now;
    if (next === undefined) {
      // One pass covers all hints, so there is no other stretch. The next pass begins at another
      // place, so that two idle processes meet less often.
      this.#start = { row: this.#anyBucket() };
    } else if (this.#seen.size === 0 || (this.#pass > 1 && (!stands || this.#isWatchedLong))) {
      this.#moveTo(next);
    }
  }

  /**
   * Whether the pass that just ended began at least `oldMs` after the first pass had ended. The
   * hints of the stretch had then all reached that age.
   */
  get #isWatchedLong(): boolean {
    return this.#passSince - this.#seenSince >= this.#options.oldMs();
  }

  #moveTo(start: HintRange["start"]): void {
    this.#start = start;
    this.#pass = 0;
    this.#looks = 0;
    this.#seen.clear();
  }

  /** Starts again, since the shares have changed. */
  forget(): void {
    this.#moveTo(undefined);
  }
}
