import { highestRank, memberKey, memberUrl } from "../../../examples/webindex/tables.js";
import type { Session } from "../session.js";

interface Ranked {
  readonly url: string;
  readonly hash: string | null;
  readonly cluster: string | null;
  readonly rank: number | null;
  /** How many link to it now; nobody asks where it is gone. */
  readonly links: number;
}

/** Ranks pages by the links to them, and keeps their places among the pages of equal contents. */
export async function cluster(session: Session, urls: readonly string[]): Promise<void> {
  await lockPages(session, urls);
  // A statement of its own: it sees what the one that held the lock has committed.
  const rows = await session.all<Ranked>(
    "cluster",
    `select url, hash, cluster, rank,
       (select count(*)::int from (select 1 from links where target = url limit ${highestRank}) as few) as links
     from documents where url = any($1::text[]) order by url`,
    [urls],
  );
  if (rows.length === 0) return;
  await lockClusters(session, rows);
  const moved = rows.filter((row) => row.hash !== row.cluster || rankOf(row) !== row.rank);
  const same = rows.filter((row) => !moved.includes(row));
  if (moved.length > 0) await move(session, moved);
  await anchorsChanged(session, same);
}

const rankOf = ({ hash, links }: Ranked) => (hash === null ? null : links);

/** In the order of the URLs, as every transaction locks them. */
export async function lockPages(session: Session, urls: readonly string[]): Promise<void> {
  await session.all(
    "lock pages",
    "select 1 from documents where url = any($1::text[]) order by url for update",
    [urls],
  );
}

/** Who changes the members of a cluster decides about its canonical page, one after the other. */
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

async function move(session: Session, rows: readonly Ranked[]): Promise<void> {
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
  await elect(session, named(rows.flatMap(({ cluster, hash }) => [cluster, hash])));
}

/** Makes the first member of each cluster its canonical page. What can be found of it, and of the one before, is to be seen to. */
async function elect(session: Session, hashes: readonly string[]): Promise<void> {
  const rows = await session.all<{ hash: string; canonical: string | null; first: string | null }>(
    "elect",
    `select hash, canonical, (select key from members m where m.hash = c.hash order by key limit 1) as first
     from clusters c where hash = any($1::text[])`,
    [hashes],
  );
  const changed: { hash: string; canonical: string | null }[] = [];
  for (const { hash, canonical: before, first } of rows) {
    const canonical = first === null ? null : memberUrl(first);
    if (canonical !== null) session.notify("index", canonical);
    if (before === canonical) continue;
    changed.push({ hash, canonical });
    if (before !== null) session.notify("index", before);
  }
  if (changed.length === 0) return;
  await session.all(
    "elected",
    `update clusters c set canonical = new.canonical from unnest($1::text[], $2::text[]) as new(hash, canonical)
     where c.hash = new.hash`,
    [changed.map(({ hash }) => hash), changed.map(({ canonical }) => canonical)],
  );
}

async function anchorsChanged(session: Session, rows: readonly Ranked[]): Promise<void> {
  const hashes = named(rows.map(({ hash }) => hash));
  if (hashes.length === 0) return;
  const found = await session.all<{ canonical: string | null }>(
    "canonical",
    "select canonical from clusters where hash = any($1::text[])",
    [hashes],
  );
  for (const { canonical } of found) if (canonical !== null) session.notify("index", canonical);
}

function named(hashes: readonly (string | null)[]): string[] {
  return [...new Set(hashes.filter((hash) => hash !== null))].sort();
}
