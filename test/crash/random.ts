/** A random number generator with a seed, so that a failure can be reproduced. */
export class Random {
  #state: number;

  constructor(seed: string | number) {
    let state = 0x811c9dc5;
    for (const character of String(seed)) state = Math.imul(state ^ character.charCodeAt(0), 0x01000193);
    this.#state = state >>> 0;
    for (let warm = 0; warm < 4; warm++) this.next();
  }

  /** Returns a number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer from 0 up to but excluding `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** Returns true with the given probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }
}
