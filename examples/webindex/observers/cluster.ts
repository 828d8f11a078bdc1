import { observer, type Transaction } from "percolatordb";
import { clusters, documents, highestRank, links, memberKey, memberUrl } from "../tables.js";

/** Larger clusters are left to `elect`: so many of their members may move at once that they would all conflict. */
const smallCluster = 8;

/**
 * Ranks a page by the links to it, and keeps its place among the pages of equal contents.
 *
 * Runs of one page that overlap must not both commit, or the one that saw less could come last: so each of them writes
 * the rank, changed or not. Runs that move members of one cluster must not overlap either: each writes the canonical
 * page, or has it elected afterwards.
 */
export const cluster = observer(
  "cluster",
  documents.rescore,
  async (tx, { row: url }) => {
    const hash = await tx.get(documents.hash, url);
    const rank = hash === undefined ? undefined : await countLinks(tx, url);
    const oldCluster = await tx.get(documents.cluster, url);
    const oldRank = await tx.get(documents.rank, url);
    if (rank === undefined) tx.delete(documents.rank, url);
    else tx.set(documents.rank, url, rank);
    if (hash === oldCluster && rank === oldRank) {
      if (hash !== undefined) await anchorsChanged(tx, hash);
      return;
    }
    if (oldCluster !== undefined && oldRank !== undefined) {
      tx.delete(clusters.members.at(memberKey(oldRank, url)), oldCluster);
    }
    if (hash !== undefined && rank !== undefined) {
      tx.set(clusters.members.at(memberKey(rank, url)), hash, rank);
    }
    if (hash !== oldCluster) {
      if (hash === undefined) tx.delete(documents.cluster, url);
      else tx.set(documents.cluster, url, hash);
      if (oldCluster !== undefined) await membersChanged(tx, oldCluster);
    }
    if (hash !== undefined) await membersChanged(tx, hash);
  },
  { priority: 2 },
);

async function countLinks(tx: Transaction, url: string): Promise<number> {
  let count = 0;
  for await (const _ of tx.entries(links.sources, url, { limit: highestRank })) count++;
  return count;
}

/** Sees to the canonical page of a cluster of which a member has moved. */
async function membersChanged(tx: Transaction, hash: string): Promise<void> {
  const first: string[] = [];
  for await (const { qualifier } of tx.entries(clusters.members, hash, { limit: smallCluster + 1 })) {
    first.push(memberUrl(qualifier));
  }
  if (first.length > smallCluster) tx.notify(clusters.elect, hash);
  else await makeCanonical(tx, hash, first[0]);
}

/** Elects the canonical page of a large cluster anew, after any number of its members have moved. */
export const elect = observer(
  "elect",
  clusters.elect,
  async (tx, { row: hash }) => {
    let first: string | undefined;
    for await (const { qualifier } of tx.entries(clusters.members, hash, { limit: 1 })) {
      first = memberUrl(qualifier);
    }
    await makeCanonical(tx, hash, first);
  },
  { priority: 2 },
);

/** Writes the canonical page, changed or not. What can be found of it, and of the one before, is to be seen to. */
async function makeCanonical(tx: Transaction, hash: string, url: string | undefined): Promise<void> {
  const before = await tx.get(clusters.canonical, hash);
  if (url === undefined) {
    tx.delete(clusters.canonical, hash);
  } else {
    tx.set(clusters.canonical, hash, url);
    tx.notify(documents.reindex, url);
  }
  if (before !== undefined && before !== url) tx.notify(documents.reindex, before);
}

async function anchorsChanged(tx: Transaction, hash: string): Promise<void> {
  const canonical = await tx.get(clusters.canonical, hash);
  if (canonical !== undefined) tx.notify(documents.reindex, canonical);
}
