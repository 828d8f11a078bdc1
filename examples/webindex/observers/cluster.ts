import { observer, type Transaction } from "percolatordb";
import { clusters, documents, memberKey } from "../tables.js";
import { indexPage } from "./index-page.js";
import { Seen } from "./seen.js";

/** What a page's own change causes: the way on which it comes to be found. */
export const cluster = observer(
  "cluster",
  documents.rescore,
  (tx, { row: url }) => placePage(tx, url, "itself"),
  { priority: 2 },
);

/**
 * What links from elsewhere cause. No page waits for it to be found: it is done in rounds
 * (`work.ts`), many links to one page in one run.
 */
export const relink = observer(
  "relink",
  documents.relinked,
  (tx, { row: url }) => placePage(tx, url, "its links"),
  { priority: 1, concurrency: 64 },
);

/**
 * Ranks a page by the links to it, keeps its place among the pages of equal contents, and sees to
 * what can be found of them.
 *
 * Runs of one page that overlap must not both commit, or the one that saw less could come last: so
 * each of them writes the rank, changed or not; except for the effects of links if there is no such
 * page. Runs that move members of one cluster must not overlap either: each writes the canonical
 * page, or has it elected afterwards.
 */
async function placePage(tx: Transaction, url: string, changed: "itself" | "its links"): Promise<void> {
  const [hash, oldCluster, oldRank] = await Promise.all([
    tx.get(documents.hash, url),
    tx.get(documents.cluster, url),
    tx.get(documents.rank, url),
  ]);
  if (hash === undefined && oldCluster === undefined) {
    // A run that still saw the page must not come last. Runs for its links need not care about
    // that: this run comes later.
    if (changed === "itself") tx.delete(documents.rank, url);
    return;
  }
  const seen = new Seen(tx);
  const rank = hash === undefined ? undefined : await seen.rankOf(url);
  if (rank === undefined) tx.delete(documents.rank, url);
  else tx.set(documents.rank, url, rank);
  const moved = hash !== oldCluster || rank !== oldRank;
  if (moved && oldCluster !== undefined && oldRank !== undefined) {
    tx.delete(clusters.members.at(memberKey(oldRank, url)), oldCluster);
  }
  if (moved && hash !== undefined && rank !== undefined) {
    tx.set(clusters.members.at(memberKey(rank, url)), hash, rank);
  }
  const canonical: Canonical[] = [];
  if (hash !== oldCluster) {
    if (hash === undefined) tx.delete(documents.cluster, url);
    else tx.set(documents.cluster, url, hash);
    if (oldCluster !== undefined) canonical.push(await seeTo(tx, oldCluster, moved, seen));
  }
  if (hash !== undefined) canonical.push(await seeTo(tx, hash, moved, seen));
  const index = new Map<string, "all" | "links">();
  for (const { before, now } of canonical) {
    if (before !== undefined && before !== now) index.set(before, "all");
    if (now !== undefined) index.set(now, before === now ? "links" : "all");
  }
  // A transaction that made another page canonical, in this cluster or the former, may have left
  // this page as it was found.
  if (hash !== oldCluster || changed === "itself") index.set(url, "all");
  for (const [page, what] of index) await indexPage(tx, page, seen, what);
}

/**
 * The page of a cluster that can be found, and the one before; none if they must not be indexed
 * now.
 */
export interface Canonical {
  readonly before: string | undefined;
  readonly now: string | undefined;
}

/** Sees to the canonical page of a cluster of which a member has moved, or has other links. */
async function seeTo(tx: Transaction, hash: string, moved: boolean, seen: Seen): Promise<Canonical> {
  const members = await seen.smallCluster(hash);
  if (members === undefined) {
    tx.notify(clusters.elect, hash);
    return { before: undefined, now: undefined };
  }
  const before = await tx.get(clusters.canonical, hash);
  const now = members[0];
  if (moved || now !== before) setCanonical(tx, hash, now);
  return { before, now };
}

/** Every run that moves members calls it, whether or not the canonical page changes. */
export function setCanonical(tx: Transaction, hash: string, url: string | undefined): void {
  if (url === undefined) tx.delete(clusters.canonical, hash);
  else tx.set(clusters.canonical, hash, url);
}
