import { observer, type Transaction } from "percolatordb";
import { linkPlace, pageId } from "../identity.js";
import { documents, links } from "../tables.js";

/**
 * Adds a page's links to the pages that they lead to. Writes only what changed since its last run.
 * It reads nothing and writes only cells of its own page, so runs of different pages never conflict,
 * although they write the same rows.
 */
export const invert = observer(
  "invert",
  documents.links,
  async (tx, { row: url, value, previous }) => {
    const source = pageId(url).text;
    const before = new Map(previous ?? []);
    for (const [target, anchor] of value ?? []) {
      const was = before.get(target);
      before.delete(target);
      if (was === anchor) continue;
      change(tx, source, target, anchor);
    }
    for (const target of before.keys()) change(tx, source, target, undefined);
  },
  { priority: 3 },
);

function change(tx: Transaction, source: string, target: string, anchor: string | undefined): void {
  const { row, prefix } = linkPlace(target);
  const link = links.sources.at(prefix + source);
  if (anchor === undefined) tx.delete(link, row);
  else tx.set(link, row, anchor);
  tx.notify(documents.relinked, target);
}
