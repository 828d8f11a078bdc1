import type { Snapshot } from "percolatordb";
import { documents, type Statistics, shards, type Waiting } from "../tables.js";
import { type Counts, countsOf } from "../terms.js";

/** A page that waits to be merged and can be found. */
export interface WaitingPage {
  readonly id: string;
  readonly shard: string;
  readonly url: string;
  readonly lengths: Counts;
}

/**
 * Overlays the pages that wait to be merged on the postings. A waiting page counts with its current
 * terms, and its entries in the postings are ignored. So every search gives the same answer as if
 * all pages were merged.
 */
export class Overlay {
  readonly #view: Snapshot;
  readonly #hidden = new Map<string, ReadonlySet<string>>();
  readonly #changes: Waiting[] = [];
  readonly #pages: WaitingPage[] = [];
  #terms: Promise<(string | undefined)[]> | undefined;

  private constructor(view: Snapshot) {
    this.#view = view;
  }

  static async read(view: Snapshot): Promise<Overlay> {
    const overlay = new Overlay(view);
    for await (const { row, value } of view.scan(shards.pending)) overlay.#add(row, value);
    return overlay;
  }

  #add(shard: string, waiting: ReadonlyMap<string, readonly unknown[]>): void {
    const hidden = new Set<string>();
    for (const [id, page] of waiting) {
      if (!isWaiting(page)) continue;
      const [url, , lengths] = page;
      hidden.add(id);
      this.#changes.push(page);
      if (lengths !== null) this.#pages.push({ id, shard, url, lengths });
    }
    this.#hidden.set(shard, hidden);
  }

  /** Returns the ids of the pages of a shard whose postings are ignored. */
  hidden(shard: string): ReadonlySet<string> {
    return this.#hidden.get(shard) ?? none;
  }

  /** Returns the statistics of all pages, given those of the merged ones. */
  statistics(merged: Statistics): Statistics {
    let pages = merged.pages;
    const lengths: [number, number, number] = [...merged.lengths];
    const add = (sign: 1 | -1, page: Counts | null) => {
      if (page === null) return;
      pages += sign;
      for (const field of [0, 1, 2] as const) lengths[field] += sign * page[field];
    };
    for (const [, , now, before] of this.#changes) {
      add(1, now);
      add(-1, before);
    }
    return { pages, lengths };
  }

  /** Finds the waiting pages that have a term, with their counts. */
  async find(term: string): Promise<{ readonly page: WaitingPage; readonly counts: Counts }[]> {
    this.#terms ??= this.#view.getMany(
      documents.terms,
      this.#pages.map(({ url }) => url),
    );
    const stored = await this.#terms;
    return this.#pages.flatMap((page, index) => {
      const counts = countsOf(stored[index] ?? "", term);
      return counts === undefined ? [] : [{ page, counts }];
    });
  }
}

const none: ReadonlySet<string> = new Set();

/** False for entries in the former format, which lack the lengths. */
function isWaiting(page: readonly unknown[]): page is Waiting {
  return page.length === 4;
}
