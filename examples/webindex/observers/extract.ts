import { type Column, observer, type Transaction } from "percolatordb";
import { describePage } from "../derive.js";
import { documents } from "../tables.js";

/**
 * Reads a page: its hash, title, words and links. Writes only what changed, so that later observers
 * handle only that.
 */
export const extract = observer(
  "extract",
  documents.contents,
  async (tx, { row: url, value: contents }) => {
    const page = contents === undefined ? undefined : describePage(contents, url);
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
    const same = JSON.stringify(before[3]) === JSON.stringify(page?.links);
    if (!same) replace(tx, documents.links, url, before[3], page?.links);
  },
  { priority: 4 },
);

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
