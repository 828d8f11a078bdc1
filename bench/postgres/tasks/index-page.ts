import { AnchorSample, anchorLimits } from "../../../examples/webindex/derive.js";
import { pageId } from "../../../examples/webindex/identity.js";
import type { Anchors } from "../../../examples/webindex/tables.js";
import { withAnchors } from "../../../examples/webindex/terms.js";
import type { Session } from "../session.js";
import { lockPages } from "./cluster.js";

interface Indexed {
  readonly url: string;
  readonly hash: string | null;
  readonly words: string | null;
  readonly terms: string | null;
  readonly anchors: Anchors | null;
  readonly canonical: string | null;
}

/** Works out by which terms pages can be found, and lists those whose terms changed with what the postings still have. */
export async function indexPages(session: Session, urls: readonly string[]): Promise<void> {
  await lockPages(session, urls);
  const rows = await session.all<Indexed>(
    "index",
    `select d.url, d.hash, d.words, d.terms, d.anchors, c.canonical
     from documents d left join clusters c on c.hash = d.hash where d.url = any($1::text[]) order by d.url`,
    [urls],
  );
  const found = rows.filter(({ url, canonical }) => canonical === url);
  const anchorsOf = await readAnchors(
    session,
    found.map(({ hash }) => hash!),
  );
  const changed: { url: string; anchors: string | null; terms: string | null }[] = [];
  const listed: Listed[] = [];
  for (const row of rows) {
    const { url } = row;
    const isFound = row.canonical === url;
    const anchors = isFound ? anchorsOf.get(row.hash!)! : [];
    const terms = isFound ? withAnchors(row.words ?? "", anchors) : null;
    const text = anchors.length === 0 ? null : JSON.stringify(anchors);
    const retermed = terms !== row.terms;
    if (!retermed && text === (row.anchors === null ? null : JSON.stringify(row.anchors))) continue;
    changed.push({ url, anchors: text, terms });
    if (retermed) listed.push({ ...pageId(url), url, before: row.terms ?? "" });
  }
  if (changed.length === 0) return;
  await session.all(
    "indexed",
    `update documents d set anchors = new.anchors::jsonb, terms = new.terms
     from unnest($1::text[], $2::text[], $3::text[]) as new(url, anchors, terms) where d.url = new.url`,
    [changed.map(({ url }) => url), changed.map(({ anchors }) => anchors), changed.map(({ terms }) => terms)],
  );
  await list(session, listed);
}

interface Listed {
  readonly shard: string;
  readonly text: string;
  readonly url: string;
  readonly before: string;
}

/** What stands on the list keeps what the postings still have; it is written all the same, so that it meets a merge that takes it off. */
async function list(session: Session, pages: readonly Listed[]): Promise<void> {
  if (pages.length === 0) return;
  for (const { shard } of pages) session.notify("merge", shard);
  await session.all(
    "list",
    `insert into pending select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as new(shard, id, url, terms)
     order by new.shard collate "C", new.id collate "C" on conflict (shard, id) do update set url = excluded.url`,
    [
      pages.map(({ shard }) => shard),
      pages.map(({ text }) => text),
      pages.map(({ url }) => url),
      pages.map(({ before }) => before),
    ],
  );
}

/** By cluster: the anchors of the links to its members. */
async function readAnchors(session: Session, hashes: readonly string[]): Promise<Map<string, Anchors>> {
  if (hashes.length === 0) return new Map();
  const rows = await session.all<{ hash: string; anchors: string[] | null }>(
    "anchors",
    `select hash, (
       select array_agg(anchor order by key, source) from (
         select m.key, l.source, l.anchor from
           (select key, substr(key, 5) as url from members where members.hash = h.hash order by key limit ${anchorLimits.members}) as m
           cross join lateral (select source, anchor from links where target = m.url order by source limit ${anchorLimits.links}) as l
         order by m.key, l.source limit ${anchorLimits.links}
       ) as few
     ) as anchors from unnest($1::text[]) as h(hash)`,
    [hashes],
  );
  return new Map(rows.map(({ hash, anchors }) => [hash, sampled(anchors ?? [])]));
}

function sampled(anchors: readonly string[]): Anchors {
  const sample = new AnchorSample();
  for (const anchor of anchors) sample.add(anchor);
  return sample.anchors;
}
