import type { Database, Transaction } from "percolatordb";
import { packContents, sameContents } from "../contents.js";
import type { Gone, Page, Source, SourceItem, Unchanged } from "../sources/index.js";
import { documents } from "../tables.js";
import { urlFitsKey } from "../text/index.js";
import { LoadCounts, type LoadReport } from "./report.js";

export interface LoaderOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called for each item that was read. */
  readonly onItem?: ((item: SourceItem, counts: LoadReport) => void) | undefined;
  /** Waited for after each transaction, with the counts so far: so that what is loaded is also worked on. */
  readonly pace?: ((counts: LoadReport) => Promise<void>) | undefined;
}

/** Pages of one transaction: at most so many, or when they have so many bytes. */
const batchPages = 32;
const batchBytes = 512 * 1024;
/** Transactions under way at a time. */
const batchesInFlight = 4;

type Loadable = Page | Unchanged | Gone;

/** Brings the pages of a source into the database. Writes only pages that are new, different or gone. */
export async function loadSource(
  db: Database,
  source: Source,
  options: LoaderOptions = {},
): Promise<LoadReport> {
  const load = new Load(db, source, options);
  await load.run();
  return load.counts;
}

class Load {
  readonly counts: LoadCounts;
  readonly #db: Database;
  readonly #source: Source;
  readonly #options: LoaderOptions;
  readonly #inFlight = new Set<Promise<void>>();
  /** URLs of the batches under way: a page that comes twice is not loaded twice at the same time. */
  readonly #busy = new Set<string>();
  readonly #listed: Listed | undefined;
  #batch: Loadable[] = [];
  #batchUrls = new Set<string>();
  #bytes = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(db: Database, source: Source, options: LoaderOptions) {
    this.#db = db;
    this.#source = source;
    this.#options = options;
    this.counts = new LoadCounts(source.path);
    this.#listed = source.scope === undefined ? undefined : new Listed();
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    try {
      for await (const item of this.#source.items(signal)) {
        signal?.throwIfAborted();
        await this.#take(item);
        this.#options.onItem?.(item, this.counts);
      }
      await this.#send();
    } finally {
      await this.#settle();
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#listed !== undefined) await this.#deleteUnlisted(this.#source.scope!, this.#listed);
  }

  async #take(item: SourceItem): Promise<void> {
    if (item.kind === "problem") {
      if (item.url !== undefined) this.#listed?.addUnread(item.url);
      this.counts.problem(item, item.message, item.url);
      return;
    }
    this.#listed?.add(item.url);
    if (item.kind === "skipped") return this.counts.skip(item);
    if (item.kind !== "gone") this.counts.pages++;
    if (!urlFitsKey(item.url)) {
      const shown = `${item.url.slice(0, 100)}...`;
      return this.counts.problem(item, "The URL is too long to be indexed", shown);
    }
    if (this.#busy.has(item.url) || (item.kind === "unchanged" && this.#busy.has(item.refersTo))) {
      await this.#send();
      await this.#settle();
    }
    this.#batch.push(item);
    this.#batchUrls.add(item.url);
    this.#bytes += item.kind === "page" ? item.body.length : 0;
    if (this.#batch.length >= batchPages || this.#bytes >= batchBytes) await this.#send();
  }

  /** Begins the transaction of what was gathered; waits while too many are under way. */
  async #send(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#batch.length === 0) return;
    const items = this.#batch;
    const urls = this.#batchUrls;
    this.#batch = [];
    this.#batchUrls = new Set();
    this.#bytes = 0;
    for (const url of urls) this.#busy.add(url);
    const done = this.#write(items)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        for (const url of urls) this.#busy.delete(url);
        this.#inFlight.delete(done);
      });
    this.#inFlight.add(done);
    if (this.#inFlight.size >= batchesInFlight) await Promise.race(this.#inFlight);
    await this.#options.pace?.(this.counts);
  }

  async #settle(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  async #write(items: readonly Loadable[]): Promise<void> {
    const done = await this.#db.transact(
      async (tx) => {
        const outcomes: Outcome[] = [];
        for (const item of items) outcomes.push(await loadItem(tx, item));
        return outcomes;
      },
      { label: "load", signal: this.#options.signal },
    );
    for (const [index, outcome] of done.entries()) this.#count(items[index]!, outcome);
  }

  #count(item: Loadable, outcome: Outcome): void {
    if (outcome === "never seen") {
      const message = "It is recorded as unchanged, but was never loaded; load the earlier crawl first";
      this.counts.problem(item, message, item.url);
    } else if (outcome !== "absent") {
      this.counts[outcome]++;
    }
  }

  /** A source that lists every page there is, and was read whole, says by silence that a page is gone. */
  async #deleteUnlisted(scope: string, listed: Listed): Promise<void> {
    await using view = await this.#db.snapshot();
    let gone: string[] = [];
    for await (const { row: url } of view.scan(documents.contents, { prefix: scope })) {
      this.#options.signal?.throwIfAborted();
      if (listed.has(url)) continue;
      gone.push(url);
      if (gone.length < batchPages) continue;
      await this.#delete(gone);
      gone = [];
    }
    await this.#delete(gone);
  }

  async #delete(urls: readonly string[]): Promise<void> {
    if (urls.length === 0) return;
    await this.#db.transact(
      async (tx) => {
        for (const url of urls) tx.delete(documents.contents, url);
      },
      { label: "load", signal: this.#options.signal },
    );
    this.counts.deleted += urls.length;
  }
}

type Outcome = "added" | "changed" | "unchanged" | "deleted" | "absent" | "never seen";

/** Compares with what is stored, and writes only what is different. */
async function loadItem(tx: Transaction, item: Loadable): Promise<Outcome> {
  const stored = await tx.get(documents.contents, item.url);
  if (item.kind === "gone") {
    if (stored === undefined) return "absent";
    tx.delete(documents.contents, item.url);
    return "deleted";
  }
  if (item.kind === "unchanged" && item.refersTo === item.url) {
    return stored === undefined ? "never seen" : "unchanged";
  }
  const contents =
    item.kind === "page" ? packContents(item) : await tx.get(documents.contents, item.refersTo);
  if (contents === undefined) return "never seen";
  if (stored !== undefined && sameContents(stored, contents)) return "unchanged";
  tx.set(documents.contents, item.url, contents);
  return stored === undefined ? "added" : "changed";
}

/** What a source listed: pages, and folders of which nothing is known but that they are there. */
class Listed {
  readonly #urls = new Set<string>();
  readonly #folders: string[] = [];

  add(url: string): void {
    this.#urls.add(url);
  }

  /** What could not be read, and so is not known to be gone; with `/` at the end a folder. */
  addUnread(url: string): void {
    if (url.endsWith("/")) this.#folders.push(url);
    this.#urls.add(url);
  }

  has(url: string): boolean {
    return this.#urls.has(url) || this.#folders.some((folder) => url.startsWith(folder));
  }
}
