import { AnchorSample, anchorLimits } from "../../../examples/webindex/derive.js";
import { pageId } from "../../../examples/webindex/identity.js";
import { type Anchors, levelOf, rankTerm } from "../../../examples/webindex/tables.js";
import { type Counts, countsOf, indexedTerms, lengthsOf } from "../../../examples/webindex/terms.js";
import type { Session } from "../session.js";

interface Indexed {
  readonly url: string;
  readonly hash: string | null;
  readonly cluster: string | null;
  readonly words: string | null;
  readonly rank: number | null;
  readonly terms: string | null;
  readonly anchors: Anchors | null;
  readonly canonical: string | null;
}

/**
 * What may have changed: the whole page, or only the links to a page that was already canonical.
 */
export type What = "all" | "links";

/**
 * Computes the terms by which pages can be found, and lists pages whose terms changed, with the
 * terms that the postings still have. A search would overlay the list on the postings, so this
 * commit makes the pages findable.
 */
export async function indexPages(
  session: Session,
  urls: readonly string[],
  changed?: ReadonlyMap<string, What>,
): Promise<void> {
  if (urls.length === 0) return;
  await session.all(
    "lock pages",
    "select 1 from documents where url = any($1::text[]) order by url for update",
    [urls],
  );
  const all = await session.all<Indexed>(
    "index",
    `select d.url, d.hash, d.cluster, d.words, d.rank, d.terms, d.anchors, c.canonical
     from documents d left join clusters c on c.hash = d.hash where d.url = any($1::text[]) order by d.url`,
    [urls],
  );
  // A page with new contents is found by its previous terms until its new cluster is known.
  const rows = all.filter(({ hash, cluster }) => hash === cluster);
  const found = rows.filter(({ url, canonical }) => canonical === url);
  const anchorsOf = await readAnchors(
    session,
    found.map(({ hash }) => hash!),
  );
  const written: { url: string; anchors: string | null; terms: string | null }[] = [];
  const listed: Listed[] = [];
  for (const row of rows) {
    const { url } = row;
    const isFound = row.canonical === url;
    const anchors = isFound ? anchorsOf.get(row.hash!)! : [];
    const text = anchors.length === 0 ? null : JSON.stringify(anchors);
    const isSame = text === (row.anchors === null ? null : JSON.stringify(row.anchors));
    const rank = row.rank ?? 0;
    const isSameLevel = (countsOf(row.terms ?? "", rankTerm)?.[0] ?? 0) === levelOf(rank);
    if (isSame && isSameLevel && isFound && changed?.get(url) === "links") continue;
    const terms = isFound ? indexedTerms(row.words ?? "", anchors, rank) : null;
    const retermed = terms !== row.terms;
    if (!retermed && isSame) continue;
    written.push({ url, anchors: text, terms });
    if (retermed) listed.push({ ...pageId(url), url, before: row.terms, now: terms });
  }
  if (written.length === 0) return;
  await session.all(
    "indexed",
    `update documents d set anchors = new.anchors::jsonb, terms = new.terms
     from unnest($1::text[], $2::text[], $3::text[]) as new(url, anchors, terms) where d.url = new.url`,
    [written.map(({ url }) => url), written.map(({ anchors }) => anchors), written.map(({ terms }) => terms)],
  );
  await list(session, listed);
}

interface Listed {
  readonly shard: string;
  readonly text: string;
  readonly url: string;
  readonly before: string | null;
  readonly now: string | null;
}

/**
 * Lists pages to be merged. If a page is already listed, the terms recorded there stay, because the
 * postings still have them. The row is written in any case, so that this transaction conflicts with
 * a merge that removes the row.
 */
async function list(session: Session, pages: readonly Listed[]): Promise<void> {
  if (pages.length === 0) return;
  for (const { shard } of pages) session.notify("merge", shard);
  session.found.push(...pages.filter(({ now }) => now !== null).map(({ text }) => text));
  await session.all(
    "list",
    `insert into pending
     select shard, id, url, terms, now::jsonb, merged::jsonb
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) as new(shard, id, url, terms, now, merged)
     order by new.shard collate "C", new.id collate "C" on conflict (shard, id) do update set now = excluded.now`,
    [
      pages.map(({ shard }) => shard),
      pages.map(({ text }) => text),
      pages.map(({ url }) => url),
      pages.map(({ before }) => before ?? ""),
      pages.map(({ now }) => lengthsIn(now)),
      pages.map(({ before }) => lengthsIn(before)),
    ],
  );
}

function lengthsIn(terms: string | null): string | null {
  return terms === null ? null : JSON.stringify(lengthsOf(terms) satisfies Counts);
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
