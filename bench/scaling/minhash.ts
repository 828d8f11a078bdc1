import { bytes, observer, table } from "percolatordb";
import { describePage } from "../../examples/webindex/derive.js";
import { randomNumbers } from "../harness/data.js";

/** The number of words in a shingle. */
const shingleWords = 5;

/**
 * A page, and the signature by which its near duplicates can be found: the smallest value of each
 * of many hash functions over its shingles.
 */
export const pages = table("pages", { contents: bytes(), signature: bytes() });

/** Some hash functions, each with its own multiplier and addend. */
export class MinHash {
  readonly #multipliers: Uint32Array;
  readonly #addends: Uint32Array;

  constructor(functions: number) {
    const random = randomNumbers(functions);
    this.#multipliers = Uint32Array.from({ length: functions }, () => random(2 ** 31) * 2 + 1);
    this.#addends = Uint32Array.from({ length: functions }, () => random(2 ** 32));
  }

  /** Returns the signature of a text. If the text has no whole shingle, all bits are set. */
  signature(text: string): Uint8Array {
    const shingles = shinglesOf(text);
    const smallest = new Uint32Array(this.#multipliers.length).fill(0xffff_ffff);
    for (let index = 0; index < smallest.length; index++) {
      const [multiplier, addend] = [this.#multipliers[index]!, this.#addends[index]!];
      let least = 0xffff_ffff;
      for (let at = 0; at < shingles.length; at++) {
        const value = (Math.imul(shingles[at]!, multiplier) + addend) >>> 0;
        if (value < least) least = value;
      }
      smallest[index] = least;
    }
    return new Uint8Array(smallest.buffer);
  }
}

/** The computation of one run: reads a page as a browser would, and computes its signature. */
export function signatureOf(hash: MinHash, contents: Uint8Array, url: string): Uint8Array {
  return hash.signature(describePage(contents, url).words);
}

export function minhashObserver(functions: number) {
  const hash = new MinHash(functions);
  return observer("minhash", pages.contents, async (tx, { row: url, value: contents }) => {
    if (contents === undefined) tx.delete(pages.signature, url);
    else tx.set(pages.signature, url, signatureOf(hash, contents, url));
  });
}

function shinglesOf(text: string): Uint32Array {
  const words = text.split(/\s+/).filter(Boolean).map(hashOf);
  const shingles = new Uint32Array(Math.max(0, words.length - shingleWords + 1));
  for (let at = 0; at < shingles.length; at++) {
    let hash = 0;
    for (let word = 0; word < shingleWords; word++)
      hash = (Math.imul(hash, 0x0100_0193) ^ words[at + word]!) >>> 0;
    shingles[at] = hash;
  }
  return shingles;
}

/** FNV-1a over UTF-16 code units. */
function hashOf(word: string): number {
  let hash = 0x811c_9dc5;
  for (let index = 0; index < word.length; index++)
    hash = Math.imul(hash ^ word.charCodeAt(index), 0x0100_0193);
  return hash >>> 0;
}
