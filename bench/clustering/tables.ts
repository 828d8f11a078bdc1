import { boolean, family, observer, table, text } from "percolatordb";
import { split } from "./repository.js";

/** A document has three clustering keys; a cluster has the documents that have its key. */
export const documents = table("documents", { keys: text() });
/**
 * A cluster as it is kept up to date: a cell for each member, so that a document comes and goes
 * without anything being read, and documents that change at the same time do not conflict.
 */
export const clusters = table("clusters", { members: family(boolean()) });
/**
 * The same, of the batch: a cell for all members, which is the least for a writer of them all at
 * once.
 */
export const batchClusters = table("batchClusters", { members: text() });

/**
 * Takes a document that was crawled again out of the clusters that it left, and puts it into those
 * it came to.
 */
export const cluster = observer("cluster", documents.keys, (tx, { row, value, previous }) => {
  const [before, now] = [split(previous), split(value)];
  const member = clusters.members.at(row);
  for (const key of before) if (!now.includes(key)) tx.delete(member, key);
  for (const key of now) if (!before.includes(key)) tx.set(member, key, true);
});

/** The same, and tells of each document whose clustering was committed. */
export const clusterTelling = (clustered: (url: string) => void) =>
  observer("cluster", documents.keys, async (tx, change) => {
    await cluster.run(tx, change);
    tx.onCommit(() => clustered(change.row));
  });
