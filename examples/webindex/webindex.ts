import { type Database, type Logger, type MetricsSnapshot, open } from "percolatordb";
import type { Truncation } from "./derive.js";
import { type LoaderOptions, loadSource } from "./load/loader.js";
import { ReadCount } from "./load/reads.js";
import { countKind, type Kind, type LoadReport } from "./load/report.js";
import { stderrLogger } from "./log.js";
import { extract } from "./observers/extract.js";
import { observers } from "./observers/index.js";
import { readStatistics } from "./search/search.js";
import type { Source } from "./sources/index.js";
import { documents, tables } from "./tables.js";
import { type IdleOptions, IndexWork } from "./work.js";

export interface WebIndexOptions {
  /** Observers that run at the same time. Default: 64. */
  readonly concurrency?: number | undefined;
  /** As `open` takes it. */
  readonly commit?: "auto" | "two-phase" | undefined;
  /** Makes the index if there is none. Default: true. */
  readonly create?: boolean | undefined;
  /** Told of what goes wrong in the background. Default: it is said on stderr. */
  readonly logger?: Logger | undefined;
}

export interface LoadOptions extends Omit<LoaderOptions, "pace"> {
  /**
   * Waits after so many pages until all of them can be found. Default: only the first observer's
   * backlog is bounded.
   */
  readonly settleEvery?: number | undefined;
}

/** The most pages that are loaded and not yet read by an observer. */
const maxUnread = 4_000;
const maxTruncatedExamples = 3;
const pauseMs = 20;
/**
 * After so long without a run in this process it is looked whether another one has worked
 * meanwhile.
 */
const stalledMs = 1_000;

/** The index: a database with its observers at work. To be closed, or held with `await using`. */
export class WebIndex {
  readonly db: Database;
  readonly #work: IndexWork;
  readonly #reads: ReadCount;

  private constructor(db: Database, work: IndexWork) {
    this.db = db;
    this.#work = work;
    this.#reads = new ReadCount(db);
  }

  /**
   * Opens the index at a location, makes it if there is none, and begins to work on what is due.
   */
  static async open(location: string, options: WebIndexOptions = {}): Promise<WebIndex> {
    // Beyond one machine timestamps come from a coordinator: if none leads, this process starts
    // one.
    const coordinator = location.startsWith("bigtable:") ? "auto" : undefined;
    const { concurrency = 64, commit, create, logger = stderrLogger } = options;
    const db = await open(location, { tables, observers, commit, coordinator, create, logger });
    const onError = (error: unknown) =>
      logger.warn("A round of work failed; it will be done again", { error });
    return new WebIndex(db, new IndexWork(db, { concurrency, onError }));
  }

  /**
   * Brings the pages of a source in. They are indexed meanwhile, in stages: what few pages cause
   * together is done once, and so it is for many. See {@link settle}.
   */
  async load(source: Source, options: LoadOptions = {}): Promise<LoadReport> {
    const { settleEvery = Number.POSITIVE_INFINITY, signal } = options;
    let settled = 0;
    let readBefore = this.#reads.count;
    const pace = async ({ pages, added, changed, deleted }: LoadReport) => {
      if (pages - settled >= settleEvery) {
        settled = pages;
        await this.settle({ signal });
      }
      const written = added + changed + deleted;
      const unread = () => written - (this.#reads.count - readBefore);
      if (unread() < maxUnread) return;
      const left = await this.#catchUp(unread, signal);
      readBefore = this.#reads.count - (written - left);
    };
    return loadSource(this.db, source, { ...options, pace });
  }

  /** Waits until every change has been worked on, with all that it causes. */
  async settle(options: IdleOptions = {}): Promise<void> {
    await this.#work.idle(options);
  }

  /** How many changes observers must handle, counted up to `most`. */
  async waiting(most: number, of: Parameters<Database["pending"]>[0] = {}): Promise<number> {
    let count = 0;
    for await (const _ of this.db.pending(of)) if (++count === most) break;
    return count;
  }

  /** Waits while more is unread than should be; resolves to how much is. */
  async #catchUp(unread: () => number, signal: AbortSignal | undefined): Promise<number> {
    let last = unread();
    let stalled = 0;
    while (unread() >= maxUnread) {
      signal?.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      stalled = unread() === last ? stalled + pauseMs : 0;
      last = unread();
      if (stalled < stalledMs) continue;
      // A page that changed twice is read once, and other processes read too.
      const waiting = await this.waiting(maxUnread, { observer: extract.name, signal });
      if (waiting < maxUnread) return waiting;
      stalled = 0;
    }
    return unread();
  }

  /** Pages that are there, and those of them that can be found: all but duplicates. */
  async count(): Promise<{ readonly live: number; readonly findable: number }> {
    await using view = await this.db.snapshot();
    let live = 0;
    for await (const _ of view.scan(documents.hash)) live++;
    return { live, findable: (await readStatistics(view)).pages };
  }

  /**
   * Pages of which more is left out than is indexed, by what it is. Derived when a page is read:
   * settle first.
   */
  async truncated(): Promise<Kind<Truncation>[]> {
    await using view = await this.db.snapshot();
    const kinds: Kind<Truncation>[] = [];
    for await (const { row, value } of view.scan(documents.truncated)) {
      for (const kind of value.split(" ")) countKind(kinds, kind as Truncation, row, maxTruncatedExamples);
    }
    return kinds;
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
    await this.#work.stop();
    await this.db.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
