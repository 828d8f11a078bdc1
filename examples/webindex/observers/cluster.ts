import { observer, type Transaction } from "percolatordb";
import { clusters, documents, levelOf, memberKey } from "../tables.js";
import { indexPage } from "./index-page.js";
import { Seen } from "./seen.js";

/** Handles a change of the page itself. A changed page becomes findable by this observer. */
export const cluster = observer(
  "cluster",
  documents.rescore,
  (tx, { row: url }) => placePage(tx, url, "itself"),
  { priority: 2 },
);

/**
 * Handles a change of the links to a page. Pages become findable without this observer, so it runs
 * only in rounds (`work.ts`). One run then handles many new links to one page.
 */
export const relink = observer(
  "relink",
  documents.relinked,
  (tx, { row: url }) => placePage(tx, url, "its links"),
  { priority: 1, concurrency: 64 },
);

/**
 * Ranks a page by the links to it, updates its place in its cluster of pages with equal contents,
 * and updates the index for all pages that this affects.
 *
 * Of two overlapping runs of one page only one may commit. Otherwise the run that saw less could
 * commit last. So each run writes the rank even if it is unchanged. The exception is a run for
 * links to a page that does not exist. Runs that move members of one cluster must not overlap
 * either. So each such run writes the canonical page, or notifies `elect`, which writes it later.
 */
async function placePage(tx: Transaction, url: string, changed: "itself" | "its links"): Promise<void> {
  const [hash, oldCluster, oldRank] = await Promise.all([
    tx.get(documents.hash, url),
    tx.get(documents.cluster, url),
    tx.get(documents.rank, url),
  ]);
  if (hash === undefined && oldCluster === undefined) {
    // An overlapping run that still saw the page must not commit last. This write makes it
    // conflict. A run for the page's links need not write, because a run for the page itself does.
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
    const isSame = before === now && !(now === url && isNewLevel(oldRank, rank));
    if (now !== undefined) index.set(now, isSame ? "links" : "all");
  }
  // This page is indexed too. If another transaction made another page canonical, in this cluster
  // or the previous one, it may have left this page in the index.
  if (hash !== oldCluster || changed === "itself") index.set(url, "all");
  for (const [page, what] of index) await indexPage(tx, page, seen, what);
}

/** Whether the postings have another level for a page's rank than they should. */
function isNewLevel(before: number | undefined, now: number | undefined): boolean {
  return levelOf(before ?? 0) !== levelOf(now ?? 0);
}

/**
 * The canonical page of a cluster before and after a run. Both are `undefined` for a large cluster,
 * because `elect` chooses and indexes its canonical page later.
 */
export interface Canonical {
  readonly before: string | undefined;
  readonly now: string | undefined;
}

/** Updates the canonical page of a cluster after a member has moved or its links have changed. */
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

/**
 * Writes the canonical page of a cluster. A run that moves members calls this even if the canonical
 * page stays the same, so that it conflicts with overlapping runs.
 */
export function setCanonical(tx: Transaction, hash: string, url: string | undefined): void {
  if (url === undefined) tx.delete(clusters.canonical, hash);
  else tx.set(clusters.canonical, hash, url);
}
