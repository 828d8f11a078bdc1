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
 * Hints of one look, and looks of one pass: what they find is remembered until the pass after it
 * has ended.
 */
const pageHints = 256;
const looksOfPass = 8;

export interface ForeignHintsOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  /** With which all hints of the observer begin. */
  readonly prefix: Uint8Array;
  /** Whether a hint is of another process's share. */
  readonly isForeign: (hint: StandingHint) => boolean;
  /**
   * When a hint that stands is old at the latest, in milliseconds: no stretch is watched for
   * longer.
   */
  readonly oldMs: number;
  readonly signal: AbortSignal;
}

/** When a hint was first seen as it is, and in which pass last. */
interface Sighting {
  readonly timestamp: number;
  readonly since: number;
  pass: number;
}

/** A hint that stands, and for how long it has been seen standing unchanged. */
export interface AgedHint {
  readonly hint: StandingHint;
  readonly standsMs: number;
}

/**
 * Watches hints of other processes' shares for those that stand for long. However many there are,
 * what is remembered is bounded and is soon looked at again: one stretch of them is passed over
 * time after time, until nothing in it stands any more that stood a pass ago, or it was watched for
 * long enough; then comes the next stretch.
 */
export class ForeignHints {
  readonly #options: ForeignHintsOptions;
  readonly #whole: HintRange;
  readonly #seen = new Map<string, Sighting>();
  /** Where the stretch begins. */
  #start: HintRange["start"];
  /** When its first pass ended: all of it has been seen since. */
  #seenSince = 0;
  #pass = 0;
  #passSince = 0;
  #looks = 0;
  /** What the pass has not come to, round to where it began; it may end before. */
  #left: HintRange[] = [];

  constructor(options: ForeignHintsOptions) {
    this.#options = options;
    this.#whole = prefixRange(options.prefix);
  }

  /** Looks at the next of them. */
  async look(): Promise<readonly AgedHint[]> {
    const now = this.#options.environment.monotonic();
    if (this.#looks === 0) this.#beginPass(now);
    const found = (await this.#read()).filter(this.#options.isForeign);
    const aged = found.map((hint) => ({ hint, standsMs: now - this.#see(hint, now) }));
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

  /** Where few stand, one look goes all the way round. */
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

  /** Since when it has been standing as it is. */
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

  /** What the pass did not meet is gone. */
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
      // There is nothing else to watch. From elsewhere, so that two who have nothing else to do
      // meet less.
      this.#start = { row: this.#anyBucket() };
    } else if (this.#seen.size === 0 || (this.#pass > 1 && (!stands || this.#isWatchedLong))) {
      this.#moveTo(next);
    }
  }

  /** Whether all of the stretch was looked at once more when it was old. */
  get #isWatchedLong(): boolean {
    return this.#passSince - this.#seenSince >= this.#options.oldMs;
  }

  #moveTo(start: HintRange["start"]): void {
    this.#start = start;
    this.#pass = 0;
    this.#looks = 0;
    this.#seen.clear();
  }

  /** Begins anew: the shares have changed. */
  forget(): void {
    this.#moveTo(undefined);
  }
}
