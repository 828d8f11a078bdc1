import { hashText } from "./hash.js";

/**
 * Random numbers that a seed decides (the generator sfc32). Not for secrets.
 *
 * @example
 * const random = new SeededRandom("7");
 * random.below(6) + 1;
 */
export class SeededRandom {
  #a: number;
  #b: number;
  #c: number;
  #d = 1;

  constructor(readonly seed: string) {
    const first = hashText(seed);
    const second = hashText(seed, 0x9e3779b9);
    this.#a = first.high;
    this.#b = first.low;
    this.#c = second.high;
    for (let round = 0; round < 12; round++) this.next();
  }

  /** Returns a number in [0, 1). */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  }

  /** Returns a whole number from 0 to `end`, exclusive. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** Returns true with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Returns one of several items. */
  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** Returns a separate generator. Draws from this generator do not affect it. */
  fork(name: string): SeededRandom {
    return new SeededRandom(`${this.seed}/${name}`);
  }
}
