import { randomNumbers } from "../harness/data.js";

/** The number of clustering keys of a document. */
export const keysPerDocument = 3;
/** The number of distinct clustering keys for each document of the repository, as in the paper. */
const distinctKeys = 0.75;

/**
 * The crawled documents. The seed alone determines which keys a document has at each crawl of it.
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

  /** Returns every document with the keys of its first crawl. */
  documents(): (readonly [url: string, keys: string])[] {
    return Array.from(
      { length: this.size },
      (_, index) => [this.url(index), joined(this.keys(index, 0))] as const,
    );
  }

  /**
   * Returns the keys of a document at a crawl of it, ascending. Each crawl of a document gives
   * other keys.
   */
  keys(index: number, crawl: number): readonly string[] {
    const random = randomNumbers(index * 7_919 + crawl * 104_729 + 1);
    const keys = new Set<string>();
    while (keys.size < keysPerDocument) keys.add(`k${String(random(this.#keys)).padStart(this.#width, "0")}`);
    return [...keys].sort();
  }
}

/** The stored form of a list. */
export const joined = (items: readonly string[]): string => items.join(" ");
export const split = (text: string | undefined): readonly string[] =>
  text === undefined || text === "" ? [] : text.split(" ");

/**
 * Returns the members of each cluster, ascending, from all documents: the result that a batch
 * computes.
 */
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
