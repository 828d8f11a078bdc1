import type { Database, Transaction } from "percolatordb";
import { packContents, sameContents } from "../contents.js";
import type { Source, SourceItem, Unchanged } from "../sources/index.js";
import { documents } from "../tables.js";
import { urlFitsKey } from "../text/index.js";
import { isNamedAsNoPage } from "../text/media.js";
import { Batches, batchPages, type Loadable } from "./batches.js";
import { LoadCounts, type LoadReport } from "./report.js";
import { addCapture, captureOf, compareRevisit, joinDigests, type Stored } from "./revisit.js";

export interface LoaderOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called for each item that was read. */
  readonly onItem?: ((item: SourceItem, counts: LoadReport) => void) | undefined;
  /**
   * Called with the counts so far after each transaction. The load waits for it, so that the
   * observers keep up with the load.
   */
  readonly pace?: ((counts: LoadReport) => Promise<void>) | undefined;
}

/**
 * Loads the pages of a source into the database. Writes only pages that are new, changed or gone.
 */
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
      this.counts.problem(item.what, item, item.message, item.url);
      return;
    }
    this.#listed?.add(item.url);
    if (item.kind === "skipped") return this.counts.skip(item);
    if (item.kind !== "gone") this.counts.pages++;
    if (!urlFitsKey(item.url)) {
      const shown = `${item.url.slice(0, 100)}...`;
      return this.counts.problem("too long", item, "The URL is too long to be indexed", shown);
    }
    await this.#batches.add(item);
  }

  async #write(items: readonly Loadable[]): Promise<void> {
    const isArchive = this.#source.kind === "archive";
    const done = await this.#db.transact(
      async (tx) => {
        const outcomes: Outcome[] = [];
        for (const item of items) outcomes.push(await loadItem(tx, item, isArchive));
        return outcomes;
      },
      { label: "load", signal: this.#options.signal },
    );
    for (const [index, outcome] of done.entries()) this.#count(items[index]!, outcome);
  }

  #count(item: Loadable, outcome: Outcome): void {
    const { counts } = this;
    if (outcome === "never seen") {
      if (isNamedAsNoPage(item.url)) {
        counts.skip({ ...item, reason: "unchanged, never loaded, and no page by its name" });
      } else {
        counts.problem("unseen", item, "It was never loaded; load the crawl that holds it", item.url);
      }
    } else if (outcome === "stale") {
      counts.stale++;
      counts.problem("stale", item, staleMessage(item), item.url);
    } else if (outcome === "other record") {
      counts.problem("other record", item, otherRecordMessage(item), item.url);
    } else if (outcome === "absent") {
      if (item.kind === "gone") counts.skip({ ...item, reason: `HTTP status ${item.status}` });
    } else {
      if (outcome === "unchecked") counts.unchanged++;
      counts[outcome]++;
    }
  }

  /** If a source lists every page and was read completely, a page that it does not list is gone. */
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
        for (const url of urls) save(tx, url, await read(tx, url), undefined);
      },
      { label: "load", signal: this.#options.signal },
    );
    this.counts.deleted += urls.length;
  }
}

type Outcome =
  | "added"
  | "changed"
  | "unchanged"
  | "unchecked"
  | "deleted"
  | "absent"
  | "never seen"
  | "stale"
  | "other record";

function staleMessage(item: Loadable): string {
  const digest = item.kind === "unchanged" ? item.digest : undefined;
  return `What is stored does not have the digest ${digest}: the page has changed since it was loaded; load the crawl that holds it`;
}

function otherRecordMessage(item: Loadable): string {
  const at = item.kind === "unchanged" ? item.refersToAt : undefined;
  const date = at === undefined ? "another time" : new Date(at).toISOString();
  return `It is unchanged since a record of ${date}, which was not loaded, and has no digest to compare; load the crawl that holds it`;
}

/**
 * Compares a page with its stored version, and writes only differences. Only pages of an archive
 * have a capture date.
 */
async function loadItem(tx: Transaction, item: Loadable, isArchive: boolean): Promise<Outcome> {
  const stored = await read(tx, item.url);
  if (item.kind === "gone") {
    if (stored === undefined) return "absent";
    return save(tx, item.url, stored, undefined);
  }
  if (item.kind === "unchanged") return loadUnchanged(tx, item, stored);
  const contents = packContents(item);
  const isSame = stored !== undefined && sameContents(stored.contents, contents);
  const digests = joinDigests(item.payloadDigests, isSame ? stored.digests : undefined);
  const at = isArchive ? item.at : 0;
  const captures = isSame ? addCapture(stored.captures, at) : at === 0 ? undefined : captureOf(at);
  return save(tx, item.url, stored, { contents, digests, captures });
}

/**
 * Handles a revisit: the page equals its stored version, or another page. The equal page must have
 * the digest that the revisit names, or come from the record that the revisit names.
 */
async function loadUnchanged(tx: Transaction, item: Unchanged, stored: Stored | undefined): Promise<Outcome> {
  const own = stored && compareRevisit(item, stored);
  const keep = (): Outcome => {
    save(tx, item.url, stored, { ...stored!, captures: addCapture(stored!.captures, item.at) });
    return own === "same" ? "unchanged" : "unchecked";
  };
  if (own === "same") return keep();
  const other = item.refersTo === item.url ? undefined : await read(tx, item.refersTo);
  if (other === undefined) {
    if (own === undefined) return "never seen";
    if (own === "other") return "stale";
    return own === "other record" ? own : keep();
  }
  const found = compareRevisit(item, other);
  if (found === "other") return "stale";
  // The other page's contents are from another record. If this page already has a copy from the
  // record that the revisit names, the copy stays.
  if (found === "other record") return own === "unknown" && stored?.captures !== undefined ? keep() : found;
  return save(tx, item.url, stored, { ...other, captures: addCapture(other.captures, item.at) });
}

async function read(tx: Transaction, url: string): Promise<Stored | undefined> {
  const [contents, digests, captures] = await Promise.all([
    tx.get(documents.contents, url),
    tx.get(documents.digests, url),
    tx.get(documents.captures, url),
  ]);
  return contents === undefined ? undefined : { contents, digests, captures };
}

/** Writes what changed of a page. `undefined` deletes the page. */
function save(
  tx: Transaction,
  url: string,
  before: Stored | undefined,
  after: Stored | undefined,
): Extract<Outcome, "added" | "changed" | "unchanged" | "deleted"> {
  for (const name of ["digests", "captures"] as const) {
    const value = after?.[name];
    if (before?.[name] === value) continue;
    if (value === undefined) tx.delete(documents[name], url);
    else tx.set(documents[name], url, value);
  }
  if (after === undefined) {
    tx.delete(documents.contents, url);
    return "deleted";
  }
  if (before !== undefined && sameContents(before.contents, after.contents)) return "unchanged";
  tx.set(documents.contents, url, after.contents);
  return before === undefined ? "added" : "changed";
}

/** What a source listed: pages, and folders that exist but could not be read. */
class Listed {
  readonly #urls = new Set<string>();
  readonly #folders: string[] = [];

  add(url: string): void {
    this.#urls.add(url);
  }

  /**
   * Adds a page that could not be read, and so is not known to be gone. A URL that ends in `/` is a
   * folder.
   */
  addUnread(url: string): void {
    if (url.endsWith("/")) this.#folders.push(url);
    this.#urls.add(url);
  }

  has(url: string): boolean {
    return this.#urls.has(url) || this.#folders.some((folder) => url.startsWith(folder));
  }
}
