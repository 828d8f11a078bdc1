import { observer } from "percolatordb";
import { pageId } from "../identity.js";
import { documents, links } from "../tables.js";

/**
 * Adds a page's links to the pages that they lead to. Writes only what changed since its last run.
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
