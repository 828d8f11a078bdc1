/** The words that the index has, to suggest one for a word that it does not have. */
import type { Snapshot } from "percolatordb";
import { decodePostings } from "../postings.js";
import { postings, rankTerm } from "../tables.js";
import type { ShardState } from "./index-cache.js";
import { Turns } from "./turns.js";

/** Enough pages to meet every word that is worth suggesting. Shards have pages by their hash. */
const maxPages = 4_000;
const maxWords = 200_000;
/** How many words are compared before another request may get a turn. */
const wordsOfStep = 500;
/** A word's letters, for which nothing is suggested: it is short, or a number or a name. */
const leastLength = 3;

export class Vocabulary {
  /** In how many of the sampled shards each word occurs. */
  readonly #words: ReadonlyMap<string, number>;
  readonly #sampled: readonly ShardState[];

  private constructor(words: ReadonlyMap<string, number>, sampled: readonly ShardState[]) {
    this.#words = words;
    this.#sampled = sampled;
  }

  /** Reads the words of some shards, one after another. Between them other requests can run. */
  static async read(view: Snapshot, states: readonly ShardState[]): Promise<Vocabulary> {
    const words = new Map<string, number>();
    const sampled = sampleOf(states);
    const turns = new Turns();
    for (const { name } of sampled) {
      for await (const { value } of view.entries(postings.documents, name)) {
        turns.run(() => addWords(words, value));
      }
      await turns.pass();
    }
    return new Vocabulary(words, sampled);
  }

  /** Whether most of what was sampled is still as it was. */
  isCurrent(states: readonly ShardState[]): boolean {
    const versions = new Map(states.map(({ name, version }) => [name, version]));
    const same = this.#sampled.filter(({ name, version }) => versions.get(name) === version);
    return same.length > 0 && same.length >= this.#sampled.length / 2;
  }

  /**
   * Returns the word that is most like an unknown one: the nearest, and of these the most common. Other
   * requests can run meanwhile.
   */
  async suggest(
    unknown: string,
    { turns = new Turns(), signal }: SuggestOptions = {},
  ): Promise<string | undefined> {
    if (unknown.length < leastLength || /\d/.test(unknown)) return undefined;
    const left = this.#words.entries();
    let best: Suggestion | undefined;
    for (let isDone = false; !isDone; ) {
      turns.run(() => {
        for (let compared = 0; compared < wordsOfStep && !isDone; compared++) {
          const next = left.next();
          if (next.done) isDone = true;
          else best = better(unknown, next.value, best);
        }
      });
      await turns.pass();
      signal?.throwIfAborted();
    }
    return best?.word;
  }
}

export interface SuggestOptions {
  readonly turns?: Turns | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Suggestion {
  readonly word: string;
  readonly distance: number;
  readonly count: number;
}

/** A word, if it is a better suggestion than the best one before. */
function better(
  unknown: string,
  [word, count]: readonly [string, number],
  best: Suggestion | undefined,
): Suggestion | undefined {
  const most = unknown.length < 5 ? 1 : 2;
  if (Math.abs(word.length - unknown.length) > most || word === unknown) return best;
  const distance = editDistance(unknown, word, best?.distance ?? most);
  if (distance > most) return best;
  const isWorse = best !== undefined && (distance > best.distance || !isBetter(word, count, distance, best));
  return isWorse ? best : { word, distance, count };
}

function addWords(words: Map<string, number>, cell: Uint8Array): void {
  for (const word of decodePostings(cell).keys()) {
    if (word !== rankTerm && words.size < maxWords) words.set(word, (words.get(word) ?? 0) + 1);
  }
}

function isBetter(word: string, count: number, distance: number, best: Suggestion): boolean {
  return distance < best.distance || count > best.count || (count === best.count && word < best.word);
}

function sampleOf(states: readonly ShardState[]): ShardState[] {
  const sampled: ShardState[] = [];
  let pages = 0;
  for (const state of states) {
    if (pages >= maxPages) break;
    if (state.pages.statistics.pages === 0) continue;
    sampled.push(state);
    pages += state.pages.statistics.pages;
  }
  return sampled;
}

/**
 * Returns how many letters must be changed, added, left out, or swapped with their neighbour, to
 * make one word of another (optimal string alignment). Above `most` any higher number is returned.
 */
export function editDistance(one: string, other: string, most: number): number {
  let [before, last] = [[] as number[], Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    let least = row;
    for (let at = 1; at <= other.length; at++) {
      const isSame = one[row - 1] === other[at - 1];
      let cost = Math.min(last[at]! + 1, current[at - 1]! + 1, last[at - 1]! + (isSame ? 0 : 1));
      const isSwapped = row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      if (isSwapped) cost = Math.min(cost, before[at - 2]! + 1);
      current.push(cost);
      least = Math.min(least, cost);
    }
    // A swap can still use the row before.
    if (least > most && Math.min(...last) > most) return most + 1;
    [before, last] = [last, current];
  }
  return last[other.length]!;
}
