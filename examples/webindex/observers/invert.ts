import { observer } from "percolatordb";
import { pageId } from "../identity.js";
import { documents, links } from "../tables.js";

/**
 * Takes a page's links to the pages that they lead to; what changed since the last time, and
 * nothing else.
 */
export const invert = observer(
  "invert",
  documents.links,
  async (tx, { row: url, value, previous }) => {
    const source = links.sources.at(pageId(url).text);
    const before = new Map(previous ?? []);
    for (const [target, anchor] of value ?? []) {
      const was = before.get(target);
      before.delete(target);
      if (was === anchor) continue;
      tx.set(source, target, anchor);
      tx.notify(documents.relinked, target);
    }
    for (const target of before.keys()) {
      tx.delete(source, target);
      tx.notify(documents.relinked, target);
    }
  },
  { priority: 3 },
);
