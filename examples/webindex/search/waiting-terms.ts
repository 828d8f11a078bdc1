import { termHash } from "../identity.js";
import { rankTerm } from "../tables.js";
import { countsOf, placesOf } from "../terms.js";

const bitsPerTerm = 12;

/**
 * The terms of a waiting page, with a Bloom filter of them. Two of a hundred pages that lack a term
 * may seem to have it. So a search looks for a term in few texts.
 */
export class WaitingTerms {
  /** Changes with the terms. */
  readonly version: number;
  /** `undefined` if there was no room for it. */
  readonly text: string | undefined;
  /** The memory of the text in bytes, at most. */
  readonly textBytes: number;
  /** The level of the page's rank, by which every search orders its results. */
  readonly level: number;
  readonly #filter: Uint32Array;

  /** Keeps the stored text of the terms if `room`, in bytes, is enough. */
  constructor(version: number, stored: string, room: number) {
    const bytes = 2 * stored.length;
    this.version = version;
    this.text = bytes <= room ? stored : undefined;
    this.textBytes = bytes <= room ? bytes : 0;
    this.level = countsOf(stored, rankTerm)?.[0] ?? 0;
    this.#filter = filterOf(stored);
  }

  /** Whether the page may have the term with this {@link termHash}. */
  mayHave(hash: number): boolean {
    const filter = this.#filter;
    const mask = filter.length * 32 - 1;
    return has(filter, hash & mask) && has(filter, second(hash) & mask) && has(filter, third(hash) & mask);
  }
}

function filterOf(stored: string): Uint32Array {
  const hashes: number[] = [];
  for (const [start, end] of placesOf(stored)) hashes.push(termHash(stored, start, end));
  const bits = Math.max(32, 2 ** Math.ceil(Math.log2(Math.max(1, hashes.length * bitsPerTerm))));
  const filter = new Uint32Array(bits / 32);
  const mask = bits - 1;
  for (const hash of hashes) {
    add(filter, hash & mask);
    add(filter, second(hash) & mask);
    add(filter, third(hash) & mask);
  }
  return filter;
}

/** Other bits of the same hash, as if it were hashed again. */
function second(hash: number): number {
  return Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> 7;
}

function third(hash: number): number {
  return Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35) >>> 9;
}

function has(filter: Uint32Array, bit: number): boolean {
  return (filter[bit >>> 5]! & (1 << (bit & 31))) !== 0;
}

function add(filter: Uint32Array, bit: number): void {
  filter[bit >>> 5]! |= 1 << (bit & 31);
}
