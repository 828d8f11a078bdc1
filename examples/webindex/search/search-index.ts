import type { Database } from "percolatordb";
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
  readonly #views: SharedViews<SearchView>;

  constructor(db: Database, now?: () => number) {
    const cache = new IndexCache();
    this.#views = new SharedViews(
      () => db.snapshot(),
      (snapshot) => SearchView.read(snapshot, cache),
      now,
    );
  }

  search(query: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    return this.#views.use((view) => search(view, query, options));
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
