import { highestRank, memberKey, memberUrl } from "../../../examples/webindex/tables.js";
import type { Session } from "../session.js";
import { indexPages, type What } from "./index-page.js";

interface Ranked {
  readonly url: string;
  readonly hash: string | null;
  readonly cluster: string | null;
  readonly rank: number | null;
  /** How many pages link to it now. Not used if the page is gone. */
  readonly links: number;
}

/** Handles changes of pages themselves. A changed page becomes findable by this task. */
export function cluster(session: Session, urls: readonly string[]): Promise<void> {
  return placePages(session, urls, "all");
}

/** Handles changes of the links to pages. */
export function relink(session: Session, urls: readonly string[]): Promise<void> {
  return placePages(session, urls, "links");
}

/**
 * Ranks pages by the links to them and updates their places in their clusters of pages with equal
 * contents. Then updates the index for the current and the previous canonical pages of these
 * clusters.
 */
async function placePages(session: Session, urls: readonly string[], changed: What): Promise<void> {
  await lockPages(session, urls);
  // A separate statement, so that it sees the commits of the transaction that held the lock.
  const rows = await session.all<Ranked>(
    "cluster",
    `select url, hash, cluster, rank,
       (select count(*)::int from (select 1 from links where target = url limit ${highestRank}) as few) as links
     from documents where url = any($1::text[]) order by url`,
    [urls],
  );
  if (rows.length === 0) return;
  await lockClusters(session, rows);
  const index = new Map<string, What>();
  const [moved, same]: [Ranked[], Ranked[]] = [[], []];
  for (const row of rows) (row.hash !== row.cluster || rankOf(row) !== row.rank ? moved : same).push(row);
  if (moved.length > 0) await move(session, moved, index);
  await anchorsChanged(session, same, index);
  // These pages are indexed too. If another transaction made another page canonical, in the same
  // cluster or the previous one, it may have left such a page in the index.
  for (const { url, hash, cluster } of rows) {
    if (hash !== cluster || changed === "all") index.set(url, "all");
  }
  await indexPages(session, [...index.keys()], index);
}

const rankOf = ({ hash, links }: Ranked) => (hash === null ? null : links);

/**
 * Locks these pages, and the canonical pages of their clusters, which are indexed too. Every
 * transaction locks pages in URL order.
 */
async function lockPages(session: Session, urls: readonly string[]): Promise<void> {
  await session.all(
    "lock pages and canonical",
    `select 1 from documents where url = any($1::text[] || array(
       select canonical from clusters where canonical is not null and hash in (
         select unnest(array[hash, cluster]) from documents where url = any($1::text[])
       )
     )) order by url for update`,
    [urls],
  );
}

/**
 * Locks the clusters of these pages, so that transactions that change the members of a cluster
 * choose its canonical page one after another.
 */
async function lockClusters(session: Session, rows: readonly Ranked[]): Promise<void> {
  const hashes = named(rows.flatMap(({ cluster, hash }) => [cluster, hash]));
  await session.all(
    "make clusters",
    `insert into clusters (hash) select hash from unnest($1::text[]) as named(hash)
     where not exists (select 1 from clusters c where c.hash = named.hash) order by hash on conflict do nothing`,
    [hashes],
  );
  await session.all(
    "lock clusters",
    "select 1 from clusters where hash = any($1::text[]) order by hash for update",
    [hashes],
  );
}

async function move(session: Session, rows: readonly Ranked[], index: Map<string, What>): Promise<void> {
  await session.all(
    "clustered",
    `update documents d set rank = new.rank, cluster = new.hash
     from unnest($1::text[], $2::int[], $3::text[]) as new(url, rank, hash) where d.url = new.url`,
    [rows.map(({ url }) => url), rows.map(rankOf), rows.map(({ hash }) => hash)],
  );
  const gone = rows.filter(({ cluster, rank }) => cluster !== null && rank !== null);
  if (gone.length > 0) {
    await session.all(
      "members go",
      `delete from members m using unnest($1::text[], $2::text[]) as gone(hash, key)
       where m.hash = gone.hash and m.key = gone.key`,
      [gone.map(({ cluster }) => cluster), gone.map(({ rank, url }) => memberKey(rank!, url))],
    );
  }
  const come = rows.filter(({ hash }) => hash !== null);
  if (come.length > 0) {
    await session.all(
      "members come",
      `insert into members select * from unnest($1::text[], $2::text[], $3::int[])
       on conflict (hash, key) do update set rank = excluded.rank`,
      [
        come.map(({ hash }) => hash),
        come.map(({ links, url }) => memberKey(links, url)),
        come.map(({ links }) => links),
      ],
    );
  }
  await elect(session, named(rows.flatMap(({ cluster, hash }) => [cluster, hash])), index);
}

/**
 * Makes the first member of each cluster its canonical page. Adds that page and the previous
 * canonical page to `index`.
 */
async function elect(session: Session, hashes: readonly string[], index: Map<string, What>): Promise<void> {
  const rows = await session.all<{ hash: string; canonical: string | null; first: string | null }>(
    "elect",
    `select hash, canonical, (select key from members m where m.hash = c.hash order by key limit 1) as first
     from clusters c where hash = any($1::text[])`,
    [hashes],
  );
  const changed: { hash: string; canonical: string | null }[] = [];
  for (const { hash, canonical: before, first } of rows) {
    const canonical = first === null ? null : memberUrl(first);
    if (canonical !== null && index.get(canonical) !== "all") {
      index.set(canonical, canonical === before ? "links" : "all");
    }
    if (before === canonical) continue;
    changed.push({ hash, canonical });
    if (before !== null) index.set(before, "all");
  }
  if (changed.length === 0) return;
  await session.all(
    "elected",
    `update clusters c set canonical = new.canonical from unnest($1::text[], $2::text[]) as new(hash, canonical)
     where c.hash = new.hash`,
    [changed.map(({ hash }) => hash), changed.map(({ canonical }) => canonical)],
  );
}

async function anchorsChanged(
  session: Session,
  rows: readonly Ranked[],
  index: Map<string, What>,
): Promise<void> {
  const hashes = named(rows.map(({ hash }) => hash));
  if (hashes.length === 0) return;
  const found = await session.all<{ canonical: string | null }>(
    "canonical",
    "select canonical from clusters where hash = any($1::text[])",
    [hashes],
  );
  for (const { canonical } of found) {
    if (canonical !== null && !index.has(canonical)) index.set(canonical, "links");
  }
}

function named(hashes: readonly (string | null)[]): string[] {
  return [...new Set(hashes.filter((hash) => hash !== null))].sort();
}
