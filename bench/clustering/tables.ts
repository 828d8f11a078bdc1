import { observer, table, text } from "percolatordb";
import { joined, split } from "./repository.js";

/** A document has three clustering keys; a cluster has the documents that have its key. */
export const documents = table("documents", { keys: text() });
export const clusters = table("clusters", { members: text() });
/** The same, of the batch. */
export const batchClusters = table("batchClusters", { members: text() });

/** Takes a document that was crawled again out of the clusters that it left, and puts it into those it came to. */
export const cluster = observer("cluster", documents.keys, async (tx, { row, value, previous }) => {
  const [before, now] = [split(previous), split(value)];
  const left = before.filter((key) => !now.includes(key));
  const come = now.filter((key) => !before.includes(key));
  const found = await tx.getMany(clusters.members, [...left, ...come]);
  for (const [index, key] of left.entries()) {
    const members = split(found[index]).filter((member) => member !== row);
    if (members.length === 0) tx.delete(clusters.members, key);
    else tx.set(clusters.members, key, joined(members));
  }
  for (const [index, key] of come.entries()) {
    const members = new Set([...split(found[left.length + index]), row]);
    tx.set(clusters.members, key, joined([...members].sort()));
  }
});
