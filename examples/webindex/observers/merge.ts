import { observer, type Transaction } from "percolatordb";
import { type Block, decodeBlock, encodeBlock } from "../block.js";
import { bucketOf } from "../identity.js";
import { decodePostings, encodePostings, type PostingCell } from "../postings.js";
import { documents, postings, type Statistics, shards } from "../tables.js";
import { type Counts, lengthsOf, parseCounts, parseTerms } from "../terms.js";

/**
 * One run merges at most this many pages, and takes no further page after this many changed
 * postings. It merges at least one page.
 */
const maxPages = 256;
const maxPostings = 20_000;

/**
 * A page's change. `undefined` means that the page has no terms any more, or no longer has the
 * given term.
 */
interface Change {
  readonly id: string;
  readonly url: string;
  readonly lengths: Counts | undefined;
  readonly postings: ReadonlyMap<string, Counts | undefined>;
}

/** New counts by page id. `undefined` removes the page. */
type BlockChanges = Map<string, Counts | undefined>;

/**
 * Updates the postings of one shard. If many pages wait, one run merges many of them, because they
 * have most terms in common.
 */
export const merge = observer(
  "merge",
  shards.merge,
  async (tx, { row: shard }) => {
    const changes: Change[] = [];
    let changed = 0;
    for await (const { qualifier: id, value } of tx.entries(shards.pending, shard, {
      limit: maxPages + 1,
    })) {
      if (changes.length === maxPages || changed > maxPostings) {
        tx.notify(shards.merge, shard);
        break;
      }
      const [url, before] = value;
      const change = compareTerms(id, url, before, await tx.get(documents.terms, url));
      changes.push(change);
      changed += change.postings.size;
      tx.delete(shards.pending.at(id), shard);
    }
    if (changes.length === 0) return;
    await mergePostings(tx, shard, changes);
    await mergeLengths(tx, shard, changes);
    tx.set(shards.merged, shard, tx.startTimestamp);
  },
  // A run is large, so few concurrent runs keep the disk busy.
  { priority: 0, concurrency: 8 },
);

function compareTerms(id: string, url: string, before: string, after: string | undefined): Change {
  const changed = new Map<string, Counts | undefined>();
  const old = parseTerms(before);
  const terms = parseTerms(after ?? "");
  for (const [term, counts] of terms) if (old.get(term) !== counts) changed.set(term, parseCounts(counts));
  for (const term of old.keys()) if (!terms.has(term)) changed.set(term, undefined);
  return { id, url, lengths: after === undefined ? undefined : lengthsOf(after), postings: changed };
}

async function mergePostings(tx: Transaction, shard: string, changes: readonly Change[]): Promise<void> {
  const column = postings.documents.at(shard);
  const byBucket = new Map<string, Map<string, BlockChanges>>();
  for (const { id, postings } of changes) {
    for (const [term, counts] of postings) {
      const ofBucket = getOrMake(byBucket, bucketOf(term));
      getOrMake(ofBucket, term).set(id, counts);
    }
  }
  const buckets = [...byBucket.keys()];
  const stored = await tx.getMany(column, buckets);
  for (const [index, bucket] of buckets.entries()) {
    const cell = decodePostings(stored[index]);
    for (const [term, changed] of byBucket.get(bucket)!) changeTerm(cell, term, changed);
    const encoded = encodePostings(cell);
    if (encoded === undefined) tx.delete(column, bucket);
    else tx.set(column, bucket, encoded);
  }
}

function changeTerm(cell: PostingCell, term: string, changes: BlockChanges): void {
  const block = decodeBlock(cell.get(term));
  applyTo(block, changes);
  const encoded = encodeBlock(block);
  if (encoded === undefined) cell.delete(term);
  else cell.set(term, encoded);
}

function getOrMake<K, V>(map: Map<string, Map<K, V>>, key: string): Map<K, V> {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = new Map<K, V>();
  map.set(key, made);
  return made;
}

async function mergeLengths(tx: Transaction, shard: string, changes: readonly Change[]): Promise<void> {
  const block = decodeBlock(await tx.get(shards.lengths, shard));
  for (const { id, url, lengths } of changes) {
    if (lengths === undefined) tx.delete(shards.urls.at(id), shard);
    else if (!block.has(id)) tx.set(shards.urls.at(id), shard, url);
  }
  applyTo(block, new Map(changes.map(({ id, lengths }) => [id, lengths])));
  const encoded = encodeBlock(block);
  if (encoded === undefined) {
    tx.delete(shards.lengths, shard);
    tx.delete(shards.statistics, shard);
  } else {
    tx.set(shards.lengths, shard, encoded);
    tx.set(shards.statistics, shard, sumLengths(block));
  }
}

function applyTo(block: Block, changes: BlockChanges): void {
  for (const [id, counts] of changes) {
    if (counts === undefined) block.delete(id);
    else block.set(id, counts);
  }
}

/** Returns the statistics of the pages with these lengths. */
export function sumLengths(block: Block): Statistics {
  const lengths: [number, number, number] = [0, 0, 0];
  for (const counts of block.values())
    for (const field of [0, 1, 2] as const) lengths[field] += counts[field];
  return { pages: block.size, lengths };
}
