import { type Database, type Logger, type MetricsSnapshot, open, SchemaError } from "percolatordb";
import type { Truncation } from "./derive.js";
import { type BulkOptions, bulkLoad } from "./load/bulk.js";
import { type LoaderOptions, loadSource } from "./load/loader.js";
import { ReadCount } from "./load/reads.js";
import { countKind, type Kind, type LoadReport } from "./load/report.js";
import { stderrLogger } from "./log.js";
import { extract } from "./observers/extract.js";
import { observers, observersWith } from "./observers/index.js";
import { readStatistics } from "./search/search.js";
import type { Source } from "./sources/index.js";
import { documents, tables } from "./tables.js";
import type { PageThreads } from "./threads/page-threads.js";
import { type IdleOptions, IndexWork } from "./work.js";

export interface WebIndexOptions {
  /** How many observers run concurrently. Default: 64. */
  readonly concurrency?: number | undefined;
  /**
   * The number of threads that read pages: their text, terms and links. 0 reads them in this
   * thread. Default: 0.
   */
  readonly threads?: number | undefined;
  /** As in the options of `open`. */
  readonly commit?: "auto" | "two-phase" | undefined;
  /** Runs the observers in this process. If false, other processes index what is due. Default: true. */
  readonly works?: boolean | undefined;
  /** Creates the index if there is none. Default: true. */
  readonly create?: boolean | undefined;
  /** Receives background failures. Default: they are logged to stderr. */
  readonly logger?: Logger | undefined;
}

export interface LoadOptions extends Omit<LoaderOptions, "pace"> {
  /**
   * Each time this many pages were loaded, the load waits until all of them can be found. Default:
   * only the first observer's backlog is limited.
   */
  readonly settleEvery?: number | undefined;
}

/** The most loaded pages that no observer has read yet. */
const maxUnread = 4_000;
const maxTruncatedExamples = 3;
const pauseMs = 20;
/** After this time without a run in this process, checks whether another process did the work. */
const stalledMs = 1_000;

/**
 * The index: a database with running observers. It must be closed, or declared with `await using`.
 */
export class WebIndex {
  readonly db: Database;
  readonly #work: IndexWork | undefined;
  readonly #reads: ReadCount;
  readonly #threads: PageThreads | undefined;

  private constructor(db: Database, work: IndexWork | undefined, threads: PageThreads | undefined) {
    this.db = db;
    this.#work = work;
    this.#reads = new ReadCount(db);
    this.#threads = threads;
  }

  /** Opens the index at a location, creates it if necessary, and starts the due work. */
  static async open(location: string, options: WebIndexOptions = {}): Promise<WebIndex> {
    const { logger = stderrLogger } = options;
    const threads = options.threads ? await startThreads(options.threads, logger) : undefined;
    try {
      return await WebIndex.#open(location, { ...options, logger }, threads);
    } catch (error) {
      await threads?.close();
      throw error;
    }
  }

  static async #open(
    location: string,
    { concurrency = 64, commit, create, works = true, logger }: WebIndexOptions & { readonly logger: Logger },
    threads: PageThreads | undefined,
  ): Promise<WebIndex> {
    // On more than one machine timestamps come from a coordinator. If there is no leader, this
    // process starts one.
    const coordinator = location.startsWith("bigtable:") ? "auto" : undefined;
    const used = threads === undefined ? observers : observersWith(threads.extract);
    const db = await open(location, { tables, observers: used, commit, coordinator, create, logger }).catch(
      (error: unknown) => Promise.reject(explainTables(error)),
    );
    const onError = (error: unknown) =>
      logger.warn("A round of work failed; it will be done again", { error });
    const behindAt = Math.min(concurrency / 2, threads?.extract.concurrency ?? concurrency);
    const work = works ? new IndexWork(db, { concurrency, behindAt, onError }) : undefined;
    return new WebIndex(db, work, threads);
  }

  /**
   * Loads the pages of a source. Meanwhile the observers index the pages. The observers for links
   * and merges run in rounds (`work.ts`), and may still have work when the load ends. See
   * {@link settle}.
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

  /**
   * Loads the first pages without observers, as {@link bulkLoad} says. Returns undefined if the same
   * sources were loaded in bulk before.
   */
  async bulkLoad(sources: readonly Source[], options: BulkOptions = {}): Promise<LoadReport | undefined> {
    return bulkLoad(this.db, sources, options);
  }

  /**
   * Waits until every change and all of its effects are handled. Returns at once if the index was
   * opened with `works: false`.
   */
  async settle(options: IdleOptions = {}): Promise<void> {
    await this.#work?.idle(options);
  }

  /** Counts the changes that observers must handle, up to `most`. */
  async waiting(most: number, of: Parameters<Database["pending"]>[0] = {}): Promise<number> {
    let count = 0;
    for await (const _ of this.db.pending(of)) if (++count === most) break;
    return count;
  }

  /** Waits while more pages are unread than allowed. Resolves to the number of unread pages. */
  async #catchUp(unread: () => number, signal: AbortSignal | undefined): Promise<number> {
    let last = unread();
    let stalled = 0;
    while (unread() >= maxUnread) {
      signal?.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      stalled = unread() === last ? stalled + pauseMs : 0;
      last = unread();
      if (stalled < stalledMs) continue;
      // `unread` may be too high: a page that changed twice is read only once, and other processes
      // read pages too.
      const waiting = await this.waiting(maxUnread, { observer: extract.name, signal });
      if (waiting < maxUnread) return waiting;
      stalled = 0;
    }
    return unread();
  }

  /** Counts the existing pages, and those that can be found, which are all except duplicates. */
  async count(): Promise<{ readonly live: number; readonly findable: number }> {
    await using view = await this.db.snapshot();
    let live = 0;
    for await (const _ of view.scan(documents.hash)) live++;
    return { live, findable: (await readStatistics(view)).pages };
  }

  /**
   * Counts the pages that are not indexed completely, by the part that is cut off. This is derived
   * when a page is read, so call `settle` first.
   */
  async truncated(): Promise<Kind<Truncation>[]> {
    await using view = await this.db.snapshot();
    const kinds: Kind<Truncation>[] = [];
    for await (const { row, value } of view.scan(documents.truncated)) {
      for (const kind of value.split(" ")) countKind(kinds, kind as Truncation, row, maxTruncatedExamples);
    }
    return kinds;
  }

  /** Describes the changes that were parked, one sentence each. */
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
    await this.#work?.stop();
    await this.db.close();
    await this.#threads?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Says what to do about a database whose tables are recorded otherwise than they are declared here. */
function explainTables(error: unknown): unknown {
  if (!(error instanceof SchemaError)) return error;
  return new SchemaError(
    "This version of the web index cannot read the tables of this database, and has changed nothing. If an earlier " +
      "version made the index, load its sources again into another location (--data).",
    { cause: error },
  );
}

/** Loads Piscina only for an index with threads. */
async function startThreads(threads: number, logger: Logger): Promise<PageThreads> {
  const { PageThreads } = await import("./threads/page-threads.js");
  const onError = (error: Error) => logger.warn("A thread ended; another one replaces it", { error });
  return new PageThreads({ threads, onError });
}
