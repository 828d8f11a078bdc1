import type { Database, Transaction } from "percolatordb";
import { packContents, sameContents } from "../contents.js";
import type { Source, SourceItem } from "../sources/index.js";
import { documents } from "../tables.js";
import { urlFitsKey } from "../text/index.js";
import { Batches, batchPages, type Loadable } from "./batches.js";
import { LoadCounts, type LoadReport } from "./report.js";

export interface LoaderOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called for each item that was read. */
  readonly onItem?: ((item: SourceItem, counts: LoadReport) => void) | undefined;
  /** Waited for after each transaction, with the counts so far: so that what is loaded is also worked on. */
  readonly pace?: ((counts: LoadReport) => Promise<void>) | undefined;
}

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
  readonly #batches: Batches;
  readonly #listed: Listed | undefined;

  constructor(db: Database, source: Source, options: LoaderOptions) {
    this.#db = db;
    this.#source = source;
    this.#options = options;
    this.counts = new LoadCounts(source.path);
    this.#batches = new Batches(
      (items) => this.#write(items),
      () => options.pace?.(this.counts),
    );
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
      await this.#batches.send();
    } finally {
      await this.#batches.settle();
    }
    this.#batches.throwFailure();
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
    await this.#batches.add(item);
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
