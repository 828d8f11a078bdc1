import { type Database, type MetricsSnapshot, open, type Worker } from "percolatordb";
import { type LoaderOptions, loadSource } from "./load/loader.js";
import type { LoadReport } from "./load/report.js";
import { observers } from "./observers/index.js";
import { readStatistics } from "./search/search.js";
import type { Source } from "./sources/index.js";
import { documents, tables } from "./tables.js";

export interface WebIndexOptions {
  /** Observers that run at the same time. Default: 32. */
  readonly concurrency?: number | undefined;
  /** As `open` takes it. */
  readonly commit?: "auto" | "two-phase" | undefined;
}

export interface SettleOptions {
  readonly signal?: AbortSignal | undefined;
  /** Told now and then how many changes are known to wait. */
  readonly onProgress?: ((progress: { readonly waiting: number }) => void) | undefined;
}

export interface LoadOptions extends Omit<LoaderOptions, "pace"> {
  /** Waits after so many pages until all of them can be found. Default: only the first observer's backlog is bounded. */
  readonly settleEvery?: number | undefined;
}

/** The most pages that are loaded and not yet read by an observer. */
const mostUnread = 4_000;
/** How many pages are loaded between two looks at what waits. */
const lookEvery = 1_000;
const pauseMs = 20;

/** The index: a database with its observers at work. To be closed, or held with `await using`. */
export class WebIndex {
  readonly db: Database;
  readonly #worker: Worker;

  private constructor(db: Database, worker: Worker) {
    this.db = db;
    this.#worker = worker;
  }

  /** Opens the index at a location, makes it where there is none, and begins to work on what is due. */
  static async open(location: string, options: WebIndexOptions = {}): Promise<WebIndex> {
    const db = await open(location, { tables, observers, commit: options.commit });
    return new WebIndex(db, db.work({ concurrency: options.concurrency ?? 32 }));
  }

  /**
   * Brings the pages of a source in. They are indexed meanwhile, in stages: what few pages cause together is done once,
   * and so it is for many. See {@link settle}.
   */
  async load(source: Source, options: LoadOptions = {}): Promise<LoadReport> {
    const { settleEvery = Number.POSITIVE_INFINITY, signal } = options;
    let looked = 0;
    let settled = 0;
    const pace = async (pages: number) => {
      if (pages - settled >= settleEvery) {
        settled = pages;
        await this.settle({ signal });
      } else if (pages - looked >= lookEvery) {
        looked = pages;
        await this.#pace(signal);
      }
    };
    return loadSource(this.db, source, { ...options, pace });
  }

  /** Waits until every change has been worked on, with all that it causes. */
  async settle(options: SettleOptions = {}): Promise<void> {
    await this.#worker.idle(options);
  }

  /** How many changes observers are to work on, counted up to `most`. */
  async waiting(most: number, observer?: string): Promise<number> {
    let count = 0;
    for await (const _ of this.db.pending({ observer })) if (++count === most) break;
    return count;
  }

  /** Lets the observers catch up with the loader. */
  async #pace(signal: AbortSignal | undefined): Promise<void> {
    while ((await this.waiting(mostUnread, "extract")) === mostUnread) {
      signal?.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /** Pages that are there, and those of them that can be found: all but duplicates. */
  async count(): Promise<{ readonly live: number; readonly findable: number }> {
    await using view = await this.db.snapshot();
    let live = 0;
    for await (const _ of view.scan(documents.hash)) live++;
    return { live, findable: (await readStatistics(view)).pages };
  }

  /** What could not be worked on, a sentence each. */
  async parked(): Promise<string[]> {
    const found: string[] = [];
    for await (const { observer, row, error } of this.db.parked())
      found.push(`${observer} of ${row}: ${error.message}`);
    return found;
  }

  get metrics(): MetricsSnapshot {
    return this.db.metrics;
  }

  async close(): Promise<void> {
    await this.#worker.stop();
    await this.db.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
