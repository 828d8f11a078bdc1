import { observer, type Transaction } from "percolatordb";
import { AnchorSample } from "../derive.js";
import { pageId } from "../identity.js";
import { type Anchors, clusters, documents, shards } from "../tables.js";
import { type Counts, lengthsOf, withAnchors } from "../terms.js";
import { Seen } from "./seen.js";

/** Of a page whose terms changed and whose cluster did not. */
export const index = observer(
  "index",
  documents.reindex,
  (tx, { row: url }) => indexPage(tx, url, new Seen(tx), "all"),
  { priority: 2 },
);

/**
 * Works out by which terms a page can be found: its own and its anchors' if it is canonical, none
 * otherwise. If they changed, the page is put on the list of its shard, with what the postings
 * still have of it. By the commit it can be found by them.
 *
 * Every run writes the anchors, changed or not, so that runs of one page that overlap do not both
 * commit; and every change of the terms writes the page's place on the list, so that it meets a
 * merge that takes it off.
 *
 * @param changed If it is only the links to a page that was canonical before, its terms are left when the anchors are the same.
 */
export async function indexPage(
  tx: Transaction,
  url: string,
  seen: Seen,
  changed: "all" | "links",
): Promise<void> {
  const [hash, cluster, known] = await Promise.all([
    tx.get(documents.hash, url),
    tx.get(documents.cluster, url),
    tx.get(documents.anchors, url),
  ]);
  // It has become another page: what finds its cluster also indexes it. Until then it is found as
  // it was.
  if (hash !== cluster) return writeAnchors(tx, url, known ?? []);
  const isFound = hash !== undefined && (await tx.get(clusters.canonical, hash)) === url;
  const sample = new AnchorSample();
  if (isFound) await seen.sampleAnchors(hash, sample);
  const { anchors } = sample;
  writeAnchors(tx, url, anchors);
  if (isFound && changed === "links" && isSame(anchors, known ?? [])) return;
  const terms = isFound ? withAnchors((await tx.get(documents.words, url)) ?? "", anchors) : undefined;
  await writeTerms(tx, url, terms);
}

function writeAnchors(tx: Transaction, url: string, anchors: Anchors): void {
  if (anchors.length === 0) tx.delete(documents.anchors, url);
  else tx.set(documents.anchors, url, anchors);
}

function isSame(one: Anchors, other: Anchors): boolean {
  return (
    one.length === other.length &&
    one.every(([text, times], index) => text === other[index]![0] && times === other[index]![1])
  );
}

async function writeTerms(tx: Transaction, url: string, terms: string | undefined): Promise<void> {
  const before = await tx.get(documents.terms, url);
  if (terms === before) return;
  if (terms === undefined) tx.delete(documents.terms, url);
  else tx.set(documents.terms, url, terms);
  const { text: id, shard } = pageId(url);
  const pending = shards.pending.at(id);
  const waiting = await tx.get(pending, shard);
  if (waiting === undefined) {
    tx.set(pending, shard, [url, before ?? "", lengthsIn(terms), lengthsIn(before)]);
  } else {
    const [, merged, now, lengths] = waiting;
    // One of the former kind stays one until it is merged.
    tx.set(pending, shard, now === undefined ? waiting : [url, merged, lengthsIn(terms), lengths ?? null]);
  }
  tx.notify(shards.merge, shard);
}

function lengthsIn(terms: string | undefined): Counts | null {
  return terms === undefined ? null : lengthsOf(terms);
}
