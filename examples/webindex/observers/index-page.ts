import { observer, type Transaction } from "percolatordb";
import { AnchorSample } from "../derive.js";
import { pageId } from "../identity.js";
import { type Anchors, clusters, documents, shards } from "../tables.js";
import { type Counts, indexedTerms, lengthsOf } from "../terms.js";
import { Seen } from "./seen.js";

/** Indexes a page whose terms changed while its cluster stayed the same. */
export const index = observer(
  "index",
  documents.reindex,
  (tx, { row: url }) => indexPage(tx, url, new Seen(tx), "all"),
  { priority: 2 },
);

/**
 * Computes the terms by which a page can be found. For a canonical page they are its own terms,
 * those of its anchors, and the level of its rank. Other pages have none. If the terms changed, puts
 * the page on its shard's list, with the terms that the postings still have for it. From this commit
 * on, searches find the page by its new terms.
 *
 * Every run writes the anchors even if they are unchanged, so that of two overlapping runs of one
 * page only one commits. Every change of the terms writes the page's entry in the list, so that the
 * run conflicts with a merge that removes the entry.
 *
 * @param changed `links` if only the links changed and the rank's level did not, for a page that was
 * already canonical. Then its terms stay unless the anchors changed.
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
  // The page has new contents. The observer that finds its new cluster also indexes it. Until then
  // searches find its previous terms.
  if (hash !== cluster) return writeAnchors(tx, url, known ?? []);
  const isFound = hash !== undefined && (await tx.get(clusters.canonical, hash)) === url;
  const sample = new AnchorSample();
  if (isFound) await seen.sampleAnchors(hash, sample);
  const { anchors } = sample;
  writeAnchors(tx, url, anchors);
  if (isFound && changed === "links" && isSame(anchors, known ?? [])) return;
  const terms = isFound ? await termsOf(tx, url, anchors) : undefined;
  await writeTerms(tx, url, terms);
}

async function termsOf(tx: Transaction, url: string, anchors: Anchors): Promise<string> {
  const [words = "", rank = 0] = await Promise.all([
    tx.get(documents.words, url),
    tx.get(documents.rank, url),
  ]);
  return indexedTerms(words, anchors, rank);
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
  const waiting = await tx.get(shards.waiting.at(id), shard);
  // What the postings have does not change until the merge.
  const [, , merged] = waiting ?? [url, null, lengthsIn(before)];
  if (waiting === undefined && before !== undefined) tx.set(shards.outdated.at(id), shard, before);
  tx.set(shards.waiting.at(id), shard, [url, lengthsIn(terms), merged, tx.startTimestamp]);
  tx.notify(shards.merge, shard);
}

function lengthsIn(terms: string | undefined): Counts | null {
  return terms === undefined ? null : lengthsOf(terms);
}
