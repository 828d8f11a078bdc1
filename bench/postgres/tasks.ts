/** Each observer of `examples/webindex/observers` as a job: the same steps, in SQL that works on sets where there are some. */
import { type Block, decodeBlock, encodeBlock } from "../../examples/webindex/block.js";
import { AnchorSample, anchorLimits, describePage } from "../../examples/webindex/derive.js";
import { bucketOf, pageId } from "../../examples/webindex/identity.js";
import { sumLengths } from "../../examples/webindex/observers/merge.js";
import { decodePostings, encodePostings } from "../../examples/webindex/postings.js";
import { highestRank, type Links, memberKey, memberUrl } from "../../examples/webindex/tables.js";
import {
  type Counts,
  lengthsOf,
  parseCounts,
  parseTerms,
  withAnchors,
} from "../../examples/webindex/terms.js";
import type { Session } from "./session.js";

export type Job = (session: Session, row: string) => Promise<void>;

interface DocumentRow {
  readonly contents: Buffer | null;
  readonly hash: string | null;
  readonly title: string | null;
  readonly words: string | null;
  readonly links: Links | null;
}

export const extract: Job = async (session, url) => {
  const before = await session.one<DocumentRow>(
    "extract",
    "select contents, hash, title, words, links from documents where url = $1 for update",
    [url],
  );
  if (before === undefined) return;
  const page = before.contents === null ? undefined : describePage(before.contents, url);
  const { hash = null, title = null, words = null, links = null } = page ?? {};
  const relinked = JSON.stringify(before.links) !== JSON.stringify(links);
  if (before.hash !== hash) session.notify("cluster", url);
  if (before.title !== title || before.words !== words) session.notify("index", url);
  if (relinked) session.notify("invert", url);
  await session.all(
    "extracted",
    "update documents set hash = $2, title = $3, words = $4, links = $5 where url = $1",
    [url, hash, title, words, links === null ? null : JSON.stringify(links)],
  );
};

export const invert: Job = async (session, url) => {
  const row = await session.one<{ links: Links | null; inverted: Links | null }>(
    "invert",
    "select links, inverted from documents where url = $1 for update",
    [url],
  );
  if (row === undefined) return;
  const source = pageId(url).text;
  const before = new Map(row.inverted ?? []);
  const set: (readonly [string, string])[] = [];
  for (const [target, anchor] of row.links ?? []) {
    const was = before.get(target);
    before.delete(target);
    if (was !== anchor) set.push([target, anchor]);
  }
  for (const target of [...set.map(([target]) => target), ...before.keys()])
    session.notify("cluster", target);
  if (set.length > 0) {
    await session.all(
      "link",
      `insert into links select target, $1, anchor from unnest($2::text[], $3::text[]) as new(target, anchor)
       on conflict (target, source) do update set anchor = excluded.anchor`,
      [source, set.map(([target]) => target), set.map(([, anchor]) => anchor)],
    );
  }
  if (before.size > 0) {
    await session.all("unlink", "delete from links where source = $1 and target = any($2::text[])", [
      source,
      [...before.keys()],
    ]);
  }
  await session.all("inverted", "update documents set inverted = links where url = $1", [url]);
};

/** Larger clusters are left to `elect`, as in the web index. */
const smallCluster = 8;

export const cluster: Job = async (session, url) => {
  await session.all("lock page", "select 1 from documents where url = $1 for update", [url]);
  const row = await session.one<{
    hash: string | null;
    cluster: string | null;
    rank: number | null;
    links: number;
  }>(
    "cluster",
    `select hash, cluster, rank, (select count(*)::int from (select 1 from links where target = $1 limit ${highestRank}) as few) as links
     from documents where url = $1`,
    [url],
  );
  if (row === undefined) return;
  const { hash, cluster: old, rank: oldRank } = row;
  await lockClusters(session, [old, hash]);
  const rank = hash === null ? null : row.links;
  await session.all("clustered", "update documents set rank = $2, cluster = $3 where url = $1", [
    url,
    rank,
    hash,
  ]);
  if (hash === old && rank === oldRank) {
    if (hash !== null) await anchorsChanged(session, hash);
    return;
  }
  if (old !== null && oldRank !== null) {
    await session.all("member goes", "delete from members where hash = $1 and key = $2", [
      old,
      memberKey(oldRank, url),
    ]);
  }
  if (hash !== null && rank !== null) {
    await session.all(
      "member comes",
      "insert into members values ($1, $2, $3) on conflict (hash, key) do update set rank = excluded.rank",
      [hash, memberKey(rank, url), rank],
    );
  }
  if (hash !== old && old !== null) await membersChanged(session, old);
  if (hash !== null) await membersChanged(session, hash);
};

/** Who changes the members of a cluster decides about its canonical page, one after the other. */
async function lockClusters(session: Session, hashes: readonly (string | null)[]): Promise<void> {
  const named = [...new Set(hashes.filter((hash) => hash !== null))].sort();
  if (named.length === 0) return;
  await session.all(
    "make clusters",
    "insert into clusters (hash) select unnest($1::text[]) on conflict do nothing",
    [named],
  );
  await session.all(
    "lock clusters",
    "select 1 from clusters where hash = any($1::text[]) order by hash for update",
    [named],
  );
}

async function firstMembers(session: Session, hash: string, limit: number): Promise<readonly string[]> {
  const rows = await session.all<{ key: string }>(
    "first members",
    "select key from members where hash = $1 order by key limit $2",
    [hash, limit],
  );
  return rows.map(({ key }) => memberUrl(key));
}

async function membersChanged(session: Session, hash: string): Promise<void> {
  const first = await firstMembers(session, hash, smallCluster + 1);
  if (first.length > smallCluster) session.notify("elect", hash);
  else await makeCanonical(session, hash, first[0]);
}

export const elect: Job = async (session, hash) => {
  await lockClusters(session, [hash]);
  const [first] = await firstMembers(session, hash, 1);
  await makeCanonical(session, hash, first);
};

async function canonicalOf(session: Session, hash: string): Promise<string | undefined> {
  const row = await session.one<{ canonical: string | null }>(
    "canonical",
    "select canonical from clusters where hash = $1",
    [hash],
  );
  return row?.canonical ?? undefined;
}

async function makeCanonical(session: Session, hash: string, url: string | undefined): Promise<void> {
  const before = await canonicalOf(session, hash);
  await session.all(
    "make canonical",
    "insert into clusters values ($1, $2) on conflict (hash) do update set canonical = excluded.canonical",
    [hash, url ?? null],
  );
  if (url !== undefined) session.notify("index", url);
  if (before !== undefined && before !== url) session.notify("index", before);
}

async function anchorsChanged(session: Session, hash: string): Promise<void> {
  const canonical = await canonicalOf(session, hash);
  if (canonical !== undefined) session.notify("index", canonical);
}

export const index: Job = async (session, url) => {
  await session.all("lock page", "select 1 from documents where url = $1 for update", [url]);
  const row = await session.one<{
    hash: string | null;
    words: string | null;
    terms: string | null;
    canonical: string | null;
  }>(
    "index",
    `select d.hash, d.words, d.terms, c.canonical from documents d left join clusters c on c.hash = d.hash where d.url = $1`,
    [url],
  );
  if (row === undefined) return;
  const found = row.hash !== null && row.canonical === url;
  const anchors = found ? await anchorsOf(session, row.hash!) : [];
  const terms = found ? withAnchors(row.words ?? "", anchors) : null;
  await session.all("indexed", "update documents set anchors = $2, terms = $3 where url = $1", [
    url,
    anchors.length === 0 ? null : JSON.stringify(anchors),
    terms,
  ]);
  if (terms === row.terms) return;
  const { text: id, shard } = pageId(url);
  // What stands there keeps what the postings still have; it is written all the same, so that it meets a merge that takes it off.
  await session.all(
    "list",
    "insert into pending values ($1, $2, $3, $4) on conflict (shard, id) do update set url = excluded.url",
    [shard, id, url, row.terms ?? ""],
  );
  session.notify("merge", shard);
};

async function anchorsOf(session: Session, hash: string) {
  const rows = await session.all<{ anchor: string }>(
    "anchors",
    `select l.anchor from
       (select key, substr(key, 5) as url from members where hash = $1 order by key limit ${anchorLimits.members}) as m
       cross join lateral (select source, anchor from links where target = m.url order by source limit ${anchorLimits.links}) as l
     order by m.key, l.source limit ${anchorLimits.links}`,
    [hash],
  );
  const sample = new AnchorSample();
  for (const { anchor } of rows) sample.add(anchor);
  return sample.anchors;
}

const mostPages = 256;

export const merge: Job = async (session, shard) => {
  await session.all("make shard", "insert into shards (shard) values ($1) on conflict do nothing", [shard]);
  await session.all("lock shard", "select 1 from shards where shard = $1 for update", [shard]);
  const taken = await session.all<{ id: string; url: string; before: string }>(
    "take",
    `delete from pending p using (select id from pending where shard = $1 order by id limit ${mostPages}) as few
     where p.shard = $1 and p.id = few.id
     returning p.id, p.url, p.terms as before`,
    [shard],
  );
  // A statement of its own: who put a page on the list while this one waited for it has committed its terms by now.
  const terms = await session.all<{ url: string; terms: string | null }>(
    "terms",
    "select url, terms from documents where url = any($1::text[])",
    [taken.map(({ url }) => url)],
  );
  const termsOf = new Map(terms.map((row) => [row.url, row.terms]));
  const waiting = taken.map((each) => ({ ...each, after: termsOf.get(each.url) ?? null }));
  if (waiting.length === 0) return;
  if (waiting.length === mostPages) session.notify("merge", shard);
  await mergePostings(session, shard, waiting);
  await mergeLengths(session, shard, waiting);
};

interface Change {
  readonly id: string;
  readonly url: string;
  readonly before: string;
  readonly after: string | null;
}

async function mergePostings(session: Session, shard: string, changes: readonly Change[]): Promise<void> {
  const byBucket = new Map<string, Map<string, Map<string, Counts | undefined>>>();
  const change = (term: string, id: string, counts: Counts | undefined) => {
    const bucket = getOrMake(byBucket, bucketOf(term));
    getOrMake(bucket, term).set(id, counts);
  };
  for (const { id, before, after } of changes) {
    const [old, now] = [parseTerms(before), parseTerms(after ?? "")];
    for (const [term, counts] of now) if (old.get(term) !== counts) change(term, id, parseCounts(counts));
    for (const term of old.keys()) if (!now.has(term)) change(term, id, undefined);
  }
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
      const block = decodeBlock(cell.get(term));
      applyTo(block, changed);
      const encoded = encodeBlock(block);
      if (encoded === undefined) cell.delete(term);
      else cell.set(term, encoded);
    }
    const documents = encodePostings(cell);
    if (documents === undefined) gone.push(bucket);
    else set.push({ bucket, documents });
  }
  if (set.length > 0) {
    await session.all(
      "put postings",
      `insert into postings select bucket, $1, documents from unnest($2::text[], $3::bytea[]) as new(bucket, documents)
       on conflict (bucket, shard) do update set documents = excluded.documents`,
      [shard, set.map(({ bucket }) => bucket), set.map(({ documents }) => Buffer.from(documents))],
    );
  }
  if (gone.length > 0)
    await session.all("drop postings", "delete from postings where shard = $1 and bucket = any($2::text[])", [
      shard,
      gone,
    ]);
}

async function mergeLengths(session: Session, shard: string, changes: readonly Change[]): Promise<void> {
  const row = await session.one<{ lengths: Buffer | null }>(
    "lengths",
    "select lengths from shards where shard = $1",
    [shard],
  );
  const block = decodeBlock(row?.lengths ?? undefined);
  const [come, gone]: [Change[], string[]] = [[], []];
  for (const each of changes) {
    if (each.after === null) gone.push(each.id);
    else if (!block.has(each.id)) come.push(each);
  }
  applyTo(
    block,
    new Map(changes.map(({ id, after }) => [id, after === null ? undefined : lengthsOf(parseTerms(after))])),
  );
  if (gone.length > 0)
    await session.all("drop urls", "delete from urls where shard = $1 and id = any($2::text[])", [
      shard,
      gone,
    ]);
  if (come.length > 0) {
    await session.all(
      "put urls",
      "insert into urls select $1, id, url from unnest($2::text[], $3::text[]) as new(id, url) on conflict (shard, id) do nothing",
      [shard, come.map(({ id }) => id), come.map(({ url }) => url)],
    );
  }
  const lengths = encodeBlock(block);
  await session.all(
    "put lengths",
    "insert into shards values ($1, $2, $3) on conflict (shard) do update set lengths = excluded.lengths, statistics = excluded.statistics",
    [
      shard,
      lengths === undefined ? null : Buffer.from(lengths),
      lengths === undefined ? null : JSON.stringify(sumLengths(block)),
    ],
  );
}

function applyTo(block: Block, changes: ReadonlyMap<string, Counts | undefined>): void {
  for (const [id, counts] of changes) {
    if (counts === undefined) block.delete(id);
    else block.set(id, counts);
  }
}

function getOrMake<K, V extends Map<never, never> | Map<string, unknown>>(map: Map<K, V>, key: K): V {
  let found = map.get(key);
  if (found === undefined) {
    found = new Map() as V;
    map.set(key, found);
  }
  return found;
}

export const jobs: Readonly<Record<string, Job>> = { extract, invert, cluster, elect, index, merge };
