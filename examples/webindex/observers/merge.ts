import { observer, type Transaction } from "percolatordb";
import { type Block, type BlockChange, decodeBlock, inOrder, updateBlock } from "../block.js";
import { bucketOf } from "../identity.js";
import { decodePostings, encodePostings } from "../postings.js";
import { documents, postings, type Statistics, shards } from "../tables.js";
import { type Counts, lengthsOf, parseCounts, parseTerms } from "../terms.js";
import { Turns } from "../turns.js";

/**
 * One run merges at most this many pages, and takes no further page after this many changed
 * postings. It merges at least one page.
 */
const maxPages = 256;
const maxPostings = 20_000;
/** If a run changes more cells of a row than this, one read of the whole row is cheaper. */
const maxSingleReads = 8;

/** A page's change. */
interface Change {
  readonly url: string;
  /** As text, and as the bytes by which blocks are ordered. */
  readonly name: string;
  readonly id: Uint8Array;
  /** `undefined` means that the page has no terms any more. */
  readonly lengths: Counts | undefined;
  /** By term. `undefined` means that the page no longer has the term. */
  readonly postings: ReadonlyMap<string, Counts | undefined>;
}

/** For each bucket the changed blocks of its terms. */
type Buckets = Map<string, Map<string, BlockChange[]>>;

/**
 * Updates the postings of one shard. If many pages wait, one run merges many of them, because they
 * have most terms in common.
 */
export const merge = observer(
  "merge",
  shards.merge,
  async (tx, { row: shard }) => {
    const turns = new Turns();
    const changes: Change[] = [];
    let changed = 0;
    for await (const { qualifier: id, value } of tx.entries(shards.waiting, shard, {
      limit: maxPages + 1,
    })) {
      if (changes.length === maxPages || changed > maxPostings) {
        tx.notify(shards.merge, shard);
        break;
      }
      const [url, , merged] = value;
      const outdated = shards.outdated.at(id);
      const [before, after] = await Promise.all([
        merged === null ? undefined : tx.get(outdated, shard),
        tx.get(documents.terms, url),
      ]);
      const change = compareTerms(id, url, before, after);
      changes.push(change);
      changed += change.postings.size;
      tx.delete(shards.waiting.at(id), shard);
      if (before !== undefined) tx.delete(outdated, shard);
      await turns.give();
    }
    if (changes.length === 0) return;
    changes.sort(inOrder);
    await mergePostings(tx, shard, changes, turns);
    await mergeLengths(tx, shard, changes);
    tx.set(shards.merged, shard, tx.startTimestamp);
  },
  // A run is large, so few concurrent runs keep the disk busy.
  { priority: 0, concurrency: 8 },
);

function compareTerms(
  name: string,
  url: string,
  before: string | undefined,
  after: string | undefined,
): Change {
  const changed = new Map<string, Counts | undefined>();
  const old = parseTerms(before ?? "");
  const terms = parseTerms(after ?? "");
  for (const [term, counts] of terms) if (old.get(term) !== counts) changed.set(term, parseCounts(counts));
  for (const term of old.keys()) if (!terms.has(term)) changed.set(term, undefined);
  const lengths = after === undefined ? undefined : lengthsOf(after);
  return { url, name, id: Buffer.from(name, "base64url"), lengths, postings: changed };
}

async function mergePostings(
  tx: Transaction,
  shard: string,
  changes: readonly Change[],
  turns: Turns,
): Promise<void> {
  const buckets = byBucket(changes);
  const stored = await readCells(tx, shard, [...buckets.keys()]);
  for (const [bucket, terms] of buckets) {
    const column = postings.documents.at(bucket);
    const cell = decodePostings(stored.get(bucket));
    for (const [term, changed] of terms) {
      const block = updateBlock(cell.get(term), changed);
      if (block === undefined) cell.delete(term);
      else cell.set(term, block);
    }
    const encoded = encodePostings(cell);
    if (encoded === undefined) tx.delete(column, shard);
    else tx.set(column, shard, encoded);
    await turns.give();
  }
}

/** Groups changes, which are in the order of the pages' ids, by bucket and term. */
function byBucket(changes: readonly Change[]): Buckets {
  const buckets: Buckets = new Map();
  const terms = new Map<string, BlockChange[]>();
  for (const { id, postings } of changes) {
    for (const [term, counts] of postings) {
      const known = terms.get(term);
      if (known !== undefined) {
        known.push({ id, counts });
        continue;
      }
      const made = [{ id, counts }];
      terms.set(term, made);
      const name = bucketOf(term);
      const bucket = buckets.get(name);
      if (bucket === undefined) buckets.set(name, new Map([[term, made]]));
      else bucket.set(term, made);
    }
  }
  return buckets;
}

/** Reads some cells of a shard's postings, or all of them. */
async function readCells(
  tx: Transaction,
  shard: string,
  buckets: readonly string[],
): Promise<ReadonlyMap<string, Uint8Array>> {
  const cells = new Map<string, Uint8Array>();
  if (buckets.length > maxSingleReads) {
    for await (const { qualifier, value } of tx.entries(postings.documents, shard))
      cells.set(qualifier, value);
    return cells;
  }
  const read = await Promise.all(buckets.map((bucket) => tx.get(postings.documents.at(bucket), shard)));
  for (const [at, cell] of read.entries()) if (cell !== undefined) cells.set(buckets[at]!, cell);
  return cells;
}

async function mergeLengths(tx: Transaction, shard: string, changes: readonly Change[]): Promise<void> {
  const stored = await tx.get(shards.lengths, shard);
  const before = decodeBlock(stored);
  for (const { name, url, lengths } of changes) {
    if (lengths === undefined) tx.delete(shards.urls.at(name), shard);
    else if (!before.has(name)) tx.set(shards.urls.at(name), shard, url);
  }
  const lengths = updateBlock(
    stored,
    changes.map(({ id, lengths }) => ({ id, counts: lengths })),
  );
  if (lengths === undefined) {
    tx.delete(shards.lengths, shard);
    tx.delete(shards.statistics, shard);
  } else {
    tx.set(shards.lengths, shard, lengths);
    tx.set(shards.statistics, shard, sumLengths(decodeBlock(lengths)));
  }
}

/** Returns the statistics of the pages with these lengths. */
export function sumLengths(block: Block): Statistics {
  const lengths: [number, number, number] = [0, 0, 0];
  for (const counts of block.values())
    for (const field of [0, 1, 2] as const) lengths[field] += counts[field];
  return { pages: block.size, lengths };
}
