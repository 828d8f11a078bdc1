import { boolean, family, observer, table, text } from "percolatordb";
import { split } from "./repository.js";

/** A document has three clustering keys. A cluster contains the documents that have its key. */
export const documents = table("documents", { keys: text() });
/**
 * A cluster as the observer maintains it: a cell for each member. So a document can be added and
 * removed without a read, and documents that change at the same time do not conflict.
 */
export const clusters = table("clusters", { members: family(boolean()) });
/**
 * A cluster as the batch writes it: one cell for all members. That is the cheapest form, because
 * the batch writes all members at once.
 */
export const batchClusters = table("batchClusters", { members: text() });

/**
 * Removes a document that was crawled again from its previous clusters, and adds it to its new
 * ones.
 */
export const cluster = observer("cluster", documents.keys, (tx, { row, value, previous }) => {
  const [before, now] = [split(previous), split(value)];
  const member = clusters.members.at(row);
  for (const key of before) if (!now.includes(key)) tx.delete(member, key);
  for (const key of now) if (!before.includes(key)) tx.set(member, key, true);
});

/** The same observer, but it also reports each document whose clustering was committed. */
export const clusterTelling = (clustered: (url: string) => void) =>
  observer("cluster", documents.keys, async (tx, change) => {
    await cluster.run(tx, change);
    tx.onCommit(() => clustered(change.row));
  });
