import { observer, type Transaction } from "percolatordb";
import { AnchorSample, anchorLimits } from "../derive.js";
import { pageId } from "../identity.js";
import { type Anchors, clusters, documents, links, memberUrl, shards } from "../tables.js";
import { withAnchors } from "../terms.js";

/**
 * Works out by which terms a page can be found: its own and its anchors' if it is canonical, none otherwise. Where
 * they changed, the page is put on the list of its shard, with the terms that the postings still have.
 *
 * Every run writes the anchors, changed or not, so that runs of one page that overlap do not both commit; and every
 * change of the terms writes the page's place on the list, so that it meets a merge that takes it off.
 */
export const indexPage = observer(
  "index",
  documents.reindex,
  async (tx, { row: url }) => {
    const hash = await tx.get(documents.hash, url);
    const canonical = hash === undefined ? undefined : await tx.get(clusters.canonical, hash);
    const found = hash !== undefined && canonical === url;
    const anchors = found ? await anchorsOf(tx, hash) : [];
    if (anchors.length === 0) tx.delete(documents.anchors, url);
    else tx.set(documents.anchors, url, anchors);
    const terms = found ? withAnchors((await tx.get(documents.words, url)) ?? "", anchors) : undefined;
    const before = await tx.get(documents.terms, url);
    if (terms === before) return;
    if (terms === undefined) tx.delete(documents.terms, url);
    else tx.set(documents.terms, url, terms);
    const { text: id, shard } = pageId(url);
    const pending = shards.pending.at(id);
    tx.set(pending, shard, (await tx.get(pending, shard)) ?? [url, before ?? ""]);
    tx.notify(shards.merge, shard);
  },
  { priority: 1 },
);

async function anchorsOf(tx: Transaction, hash: string): Promise<Anchors> {
  const sample = new AnchorSample();
  for await (const { qualifier } of tx.entries(clusters.members, hash, { limit: anchorLimits.members })) {
    if (sample.left === 0) break;
    const options = { limit: sample.left };
    for await (const { value } of tx.entries(links.sources, memberUrl(qualifier), options)) sample.add(value);
  }
  return sample.anchors;
}
