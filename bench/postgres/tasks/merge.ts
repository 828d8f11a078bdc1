import { type BlockChange, decodeBlock, inOrder, updateBlock } from "../../../examples/webindex/block.js";
import { bucketOf } from "../../../examples/webindex/identity.js";
import { sumLengths } from "../../../examples/webindex/observers/merge.js";
import { decodePostings, encodePostings } from "../../../examples/webindex/postings.js";
import { type Counts, lengthsOf, parseCounts, parseTerms } from "../../../examples/webindex/terms.js";
import type { Session } from "../session.js";

const maxPages = 256;

/** Updates the postings of shards, each with up to `maxPages` of its waiting pages. */
export async function merge(session: Session, shards: readonly string[]): Promise<void> {
  await session.all(
    "make shards",
    `insert into shards (shard) select shard from unnest($1::text[]) as due(shard)
     where not exists (select 1 from shards s where s.shard = due.shard) order by shard on conflict do nothing`,
    [shards],
  );
  await session.all(
    "lock shards",
    "select 1 from shards where shard = any($1::text[]) order by shard for update",
    [shards],
  );
  for (const shard of shards) await mergeShard(session, shard);
}

async function mergeShard(session: Session, shard: string): Promise<void> {
  const taken = await session.all<{ id: string; url: string; before: string }>(
    "take",
    `delete from pending p using (select id from pending where shard = $1 order by id limit ${maxPages}) as few
     where p.shard = $1 and p.id = few.id
     returning p.id, p.url, p.terms as before`,
    [shard],
  );
  if (taken.length === 0) return;
  // A separate statement. This transaction may have waited for another one that listed a page. Only
  // a new statement sees the terms that the other one has committed.
  const terms = await session.all<{ url: string; terms: string | null }>(
    "terms",
    "select url, terms from documents where url = any($1::text[])",
    [taken.map(({ url }) => url)],
  );
  const termsOf = new Map(terms.map((row) => [row.url, row.terms]));
  const changes = taken.map((each) => ({ ...each, after: termsOf.get(each.url) ?? null }));
  if (changes.length === maxPages) session.notify("merge", shard);
  await mergePostings(session, shard, changes);
  await mergeLengths(session, shard, changes);
}

interface Change {
  readonly id: string;
  readonly url: string;
  readonly before: string;
  readonly after: string | null;
}

/** By bucket and term: new counts, in the order of the pages' ids. */
function changesByBucket(changes: readonly Change[]): Map<string, Map<string, BlockChange[]>> {
  const byBucket = new Map<string, Map<string, BlockChange[]>>();
  const change = (term: string, id: Uint8Array, counts: Counts | undefined) => {
    const bucket = getOrMake(byBucket, bucketOf(term), () => new Map<string, BlockChange[]>());
    getOrMake(bucket, term, () => []).push({ id, counts });
  };
  const inBytes = changes.map((each) => ({ ...each, id: Buffer.from(each.id, "base64url") }));
  for (const { id, before, after } of inBytes.sort(inOrder)) {
    const [old, now] = [parseTerms(before), parseTerms(after ?? "")];
    for (const [term, counts] of now) if (old.get(term) !== counts) change(term, id, parseCounts(counts));
    for (const term of old.keys()) if (!now.has(term)) change(term, id, undefined);
  }
  return byBucket;
}

async function mergePostings(session: Session, shard: string, changes: readonly Change[]): Promise<void> {
  const byBucket = changesByBucket(changes);
  const buckets = [...byBucket.keys()].sort();
  const stored = await session.all<{ bucket: string; documents: Buffer }>(
    "postings",
    "select bucket, documents from postings where shard = $1 and bucket = any($2::text[])",
    [shard, buckets],
  );
  const found = new Map(stored.map(({ bucket, documents }) => [bucket, documents]));
  const set: { bucket: string; documents: Uint8Array }[] = [];
  const gone: string[] = [];
  for (const bucket of buckets) {
    const cell = decodePostings(found.get(bucket));
    for (const [term, changed] of byBucket.get(bucket)!) {
      const block = updateBlock(cell.get(term), changed);
      if (block === undefined) cell.delete(term);
      else cell.set(term, block);
    }
    const documents = encodePostings(cell);
    if (documents === undefined) gone.push(bucket);
    else set.push({ bucket, documents });
  }
  if (set.length > 0) {
    await session.all(
      "put postings",
      `insert into postings select $1, bucket, documents from unnest($2::text[], $3::bytea[]) as new(bucket, documents)
       on conflict (shard, bucket) do update set documents = excluded.documents`,
      [shard, set.map(({ bucket }) => bucket), set.map(({ documents }) => Buffer.from(documents))],
    );
  }
  if (gone.length > 0) {
    await session.all("drop postings", "delete from postings where shard = $1 and bucket = any($2::text[])", [
      shard,
      gone,
    ]);
  }
}

async function mergeLengths(session: Session, shard: string, changes: readonly Change[]): Promise<void> {
  const [row] = await session.all<{ lengths: Buffer | null }>(
    "lengths",
    "select lengths from shards where shard = $1",
    [shard],
  );
  const stored = row?.lengths ?? undefined;
  const before = decodeBlock(stored);
  const gone = changes.filter(({ after }) => after === null);
  const come = changes.filter(({ id, after }) => after !== null && !before.has(id));
  if (gone.length > 0) {
    await session.all("drop urls", "delete from urls where shard = $1 and id = any($2::text[])", [
      shard,
      gone.map(({ id }) => id),
    ]);
  }
  if (come.length > 0) {
    await session.all(
      "put urls",
      "insert into urls select $1, id, url from unnest($2::text[], $3::text[]) as new(id, url) on conflict (shard, id) do nothing",
      [shard, come.map(({ id }) => id), come.map(({ url }) => url)],
    );
  }
  const now = changes.map(({ id, after }) => ({
    id: Buffer.from(id, "base64url"),
    counts: after === null ? undefined : lengthsOf(after),
  }));
  const lengths = updateBlock(stored, now.sort(inOrder));
  await session.all("put lengths", "update shards set lengths = $2, statistics = $3 where shard = $1", [
    shard,
    lengths === undefined ? null : Buffer.from(lengths),
    lengths === undefined ? null : JSON.stringify(sumLengths(decodeBlock(lengths))),
  ]);
}

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
