/** A hash as two halves of 32 bits. Sums of hashes, half by half, do not depend on the order. */
export interface Hash {
  readonly high: number;
  readonly low: number;
}

/** Returns a 64-bit hash of a text. It is fast and well mixed, but not secure. */
export function hashText(text: string, seed = 0): Hash {
  let a = 0xdeadbeef ^ seed;
  let b = 0x41c6ce57 ^ seed;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return { high: b >>> 0, low: a >>> 0 };
}

/** A sum of hashes, from which single hashes can be subtracted again. */
export class HashSum {
  #high = 0;
  #low = 0;

  add({ high, low }: Hash): void {
    this.#high = (this.#high + high) >>> 0;
    this.#low = (this.#low + low) >>> 0;
  }

  remove({ high, low }: Hash): void {
    this.#high = (this.#high - high) >>> 0;
    this.#low = (this.#low - low) >>> 0;
  }

  /** Returns sixteen hexadecimal digits. */
  toString(): string {
    return this.#high.toString(16).padStart(8, "0") + this.#low.toString(16).padStart(8, "0");
  }
}
