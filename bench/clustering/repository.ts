import { randomNumbers } from "../harness/data.js";

/** Clustering keys of a document. */
export const keysPerDocument = 3;
/** Distinct clustering keys for each document of the repository, as in the paper. */
const distinctKeys = 0.75;

/**
 * What was crawled: which keys a document has, by how often it was crawled. Decided by the seed
 * alone.
 */
export class Repository {
  readonly size: number;
  readonly #keys: number;
  readonly #width: number;

  constructor(size: number) {
    this.size = size;
    this.#keys = Math.ceil(size * distinctKeys);
    this.#width = String(this.#keys).length;
  }

  url(index: number): string {
    return `org.example.www/${String(index).padStart(8, "0")}`;
  }

  /** Every document with the keys of its first crawl. */
  documents(): (readonly [url: string, keys: string])[] {
    return Array.from(
      { length: this.size },
      (_, index) => [this.url(index), joined(this.keys(index, 0))] as const,
    );
  }

  /** The keys of a document at a crawl of it, ascending: each crawl of a document finds others. */
  keys(index: number, crawl: number): readonly string[] {
    const random = randomNumbers(index * 7_919 + crawl * 104_729 + 1);
    const keys = new Set<string>();
    while (keys.size < keysPerDocument) keys.add(`k${String(random(this.#keys)).padStart(this.#width, "0")}`);
    return [...keys].sort();
  }
}

/** Lists as they are stored. */
export const joined = (items: readonly string[]): string => items.join(" ");
export const split = (text: string | undefined): readonly string[] =>
  text === undefined || text === "" ? [] : text.split(" ");

/** The members of each cluster, ascending, from all documents: what a batch computes. */
export function clustersOf(documents: Iterable<readonly [url: string, keys: string]>): Map<string, string[]> {
  const clusters = new Map<string, string[]>();
  for (const [url, keys] of documents) {
    for (const key of split(keys)) {
      const members = clusters.get(key);
      if (members === undefined) clusters.set(key, [url]);
      else members.push(url);
    }
  }
  for (const members of clusters.values()) members.sort();
  return clusters;
}
