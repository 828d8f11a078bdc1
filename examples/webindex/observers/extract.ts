import {
  type Change,
  type Column,
  type Observer,
  type ObserverOptions,
  observer,
  type Transaction,
} from "percolatordb";
import { type Description, describeInParts, describePage } from "../derive.js";
import { linkPlace, pageId } from "../identity.js";
import { documents, type Links, links } from "../tables.js";
import { inTurns } from "../turns.js";

/** A page of this many bytes takes some milliseconds to read. */
const longPage = 65_536;

/** Describes a page, in this thread or in another one. */
export type Describe = (
  contents: Uint8Array,
  url: string,
  change: Pick<Change, "signal">,
) => Description | Promise<Description>;

/**
 * Makes the observer that reads a page: its hash, title, words and links. It writes only what
 * changed, so that later observers handle only that. It writes only cells of its own page, so runs of
 * different pages never conflict, although they write the same rows of `links`.
 */
export function extractBy(describe: Describe, options: Pick<ObserverOptions, "concurrency"> = {}): Observer {
  return observer(
    "extract",
    documents.contents,
    async (tx, change) => {
      const { row: url, value: contents } = change;
      const page = contents === undefined ? undefined : await describe(contents, url, change);
      await writePage(tx, url, page);
    },
    { priority: 4, ...options },
  );
}

/** Reads pages in this thread. `PageThreads.extract` reads them in other threads. */
export const extract = extractBy(describeInThisThread());

/**
 * Reads a short page at once, and a long one in turns with other work, so that other pages need not
 * wait for it. Reads one long page at a time: that bounds the memory, and none of them would be ready sooner.
 */
export function describeInThisThread(): Describe {
  let last: Promise<unknown> = Promise.resolve();
  return (contents, url, { signal }) => {
    if (contents.length < longPage) return describePage(contents, url);
    const page = last.then(() => inTurns(describeInParts(contents, url), signal));
    last = page.catch(() => undefined);
    return page;
  };
}

async function writePage(tx: Transaction, url: string, page: Description | undefined): Promise<void> {
  const before = await Promise.all([
    tx.get(documents.hash, url),
    tx.get(documents.title, url),
    tx.get(documents.words, url),
    tx.get(documents.links, url),
    tx.get(documents.truncated, url),
  ]);
  const rehashed = replace(tx, documents.hash, url, before[0], page?.hash);
  replace(tx, documents.title, url, before[1], page?.title);
  replace(tx, documents.truncated, url, before[4], page?.truncated);
  const reworded = replace(tx, documents.words, url, before[2], page?.words);
  // The observer that finds the page's cluster also indexes it.
  if (rehashed) tx.notify(documents.rescore, url);
  else if (reworded) tx.notify(documents.reindex, url);
  if (!hasSameLinks(before[3], page?.links)) {
    replace(tx, documents.links, url, before[3], page?.links);
    invertLinks(tx, url, before[3] ?? [], page?.links ?? []);
  }
}

/** Adds a page's links to the pages that they lead to. Writes only what changed. */
function invertLinks(tx: Transaction, url: string, before: Links, after: Links): void {
  const source = pageId(url).text;
  const old = new Map(before);
  const change = (target: string, anchor: string | undefined) => {
    const { row, prefix } = linkPlace(target);
    const link = links.sources.at(prefix + source);
    if (anchor === undefined) tx.delete(link, row);
    else tx.set(link, row, anchor);
    tx.notify(documents.relinked, target);
  };
  for (const [target, anchor] of after) {
    const was = old.get(target);
    old.delete(target);
    if (was !== anchor) change(target, anchor);
  }
  for (const target of old.keys()) change(target, undefined);
}

function hasSameLinks(before: Links | undefined, after: Links | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return (
    before.length === after.length &&
    before.every(([url, anchor], index) => url === after[index]![0] && anchor === after[index]![1])
  );
}

/** Writes a value if it has changed. Returns whether it has. */
function replace<V>(
  tx: Transaction,
  column: Column<V>,
  url: string,
  before: V | undefined,
  after: V | undefined,
): boolean {
  if (before === after) return false;
  if (after === undefined) tx.delete(column, url);
  else tx.set(column, url, after);
  return true;
}
