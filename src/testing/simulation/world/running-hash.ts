/** A hash of everything that happened so far, in order. */
export class RunningHash {
  #high = 0x9e3779b9;
  #low = 0x85ebca6b;

  addNumber(value: number): void {
    this.#mix(value | 0);
    this.#mix((value / 2 ** 32) | 0);
    // The digits after the decimal point.
    this.#mix(((value % 1) * 2 ** 31) | 0);
  }

  addText(text: string): void {
    for (let index = 0; index < text.length; index++) this.#mix(text.charCodeAt(index));
    this.#mix(-1);
  }

  #mix(word: number): void {
    this.#high = Math.imul(this.#high ^ word, 0x85ebca6b);
    this.#high = (this.#high << 13) | (this.#high >>> 19);
    this.#low = Math.imul(this.#low ^ word ^ this.#high, 0xc2b2ae35);
    this.#low = (this.#low << 17) | (this.#low >>> 15);
  }

  /** Returns sixteen hexadecimal digits. */
  toString(): string {
    return hex(this.#high) + hex(this.#low);
  }
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, "0");
}
