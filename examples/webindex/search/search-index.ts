import type { Database, Snapshot } from "percolatordb";
import type { Statistics } from "../tables.js";
import { IndexCache } from "./index-cache.js";
import { type SearchAnswer, type SearchOptions, search } from "./search.js";
import { SharedViews } from "./shared-view.js";
import { SearchView } from "./view.js";

/**
 * Searches a database. Keeps decoded postings, lengths and texts in memory, and lets searches that
 * come together share one snapshot. A search sees every page that could be found a second before
 * it. Close it before the database.
 */
export class SearchIndex {
  readonly #cache = new IndexCache();
  readonly #views: SharedViews<SearchView>;

  constructor(db: Database, now?: () => number) {
    this.#views = new SharedViews(
      () => db.snapshot(),
      (snapshot) => SearchView.read(snapshot, this.#cache),
      now,
    );
  }

  search(query: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    return this.#views.use((view) => search(view, query, options));
  }

  /**
   * Searches the snapshot of a live query, which runs again when something that it has read changes.
   *
   * What the search takes from the caches is not read through the snapshot. But each cached value
   * belongs to something that is read there, by every run, and that changes with it:
   *
   * - Postings and lengths of a shard belong to its version, `shards.merged`. Every merge changes it.
   * - The terms of a waiting page belong to the version in its entry of `shards.waiting`. All entries
   *   are read. So a new page makes the query due as soon as it can be found.
   * - A text belongs to the hash of contents that are read.
   * - A URL belongs to its id, which is a hash of it, and never changes.
   *
   * Titles, ranks and duplicates of the results are not cached. Only a suggestion for an unknown word
   * may come from words that were read a while ago, as in {@link search}.
   */
  async searchLive(snapshot: Snapshot, query: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    return search(await SearchView.read(snapshot, this.#cache), query, options);
  }

  /** Returns how many pages can be found, and their lengths. */
  statistics(): Promise<Statistics> {
    return this.#views.use(async ({ statistics }) => statistics);
  }

  /** Ends the snapshot after the searches that use it. */
  close(): Promise<void> {
    return this.#views.close();
  }
}
