import { observer, type Transaction } from "percolatordb";
import { type Block, decodeBlock, encodeBlock } from "../block.js";
import { bucketOf } from "../identity.js";
import { decodePostings, encodePostings, type PostingCell } from "../postings.js";
import { documents, postings, type Statistics, shards } from "../tables.js";
import { type Counts, lengthsOf, parseCounts, parseTerms } from "../terms.js";

/**
 * How much one run takes off the list: so many pages, or as many as have so many changed postings.
 * At least one.
 */
const maxPages = 256;
const maxPostings = 20_000;

/**
 * Of a page: `undefined` if it has no terms any more, and of a term where it no longer has that.
 */
interface Change {
  readonly id: string;
  readonly url: string;
  readonly lengths: Counts | undefined;
  readonly postings: ReadonlyMap<string, Counts | undefined>;
}

/** New counts by id of page, `undefined` for a page that goes. */
type BlockChanges = Map<string, Counts | undefined>;

/**
 * Brings the postings of one shard up to date: of many pages together if many wait, as they have
 * most terms in common.
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
  },
  // Runs are large; some at a time are enough to keep the disk busy.
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

/** The statistics of the pages whose lengths are given. */
export function sumLengths(block: Block): Statistics {
  const lengths: [number, number, number] = [0, 0, 0];
  for (const counts of block.values())
    for (const field of [0, 1, 2] as const) lengths[field] += counts[field];
  return { pages: block.size, lengths };
}
