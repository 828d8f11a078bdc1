import type { Anomalies } from "./anomaly.js";
import type { Cell, CheckedTransaction } from "./checked-history.js";

/**
 * Checks that committed writers of a cell do not overlap. Of any two writers, one must begin at or
 * after the other one's commit.
 */
export function checkWriters(cells: readonly Cell[], anomalies: Anomalies): ReadonlySet<CheckedTransaction> {
  const overlapping = new Set<CheckedTransaction>();
  for (const cell of cells) {
    const { versions } = cell;
    for (let at = 1; at < versions.length; at++) {
      const [first, second] = [versions[at - 1]!.writer, versions[at]!.writer];
      if (first === undefined || second === undefined || second.start >= versions[at - 1]!.commit) continue;
      overlapping.add(first).add(second);
      const hasRead = readsCell(second, cell);
      anomalies.add(hasRead ? "P4" : "overlapping-writers", [first, second], () => {
        const lost = hasRead ? ", which had read it before, and so lost the update" : "";
        return `${first} and ${second}${lost} overlap, but both have written ${cell}.`;
      });
    }
  }
  return overlapping;
}

/** Checks that every commit timestamp is unique and above the transaction's start. */
export function checkTimestamps(transactions: readonly CheckedTransaction[], anomalies: Anomalies): void {
  const committed = new Map<number, CheckedTransaction>();
  for (const transaction of transactions) {
    const { commit, start, recorded, writes } = transaction;
    if (recorded.outcome.type !== "committed") continue;
    if (commit === undefined) {
      if (writes.size === 0) continue;
      anomalies.add("lost-write", [transaction], () => {
        return `${transaction} wrote ${[...writes.keys()].join(", ")}, and committed without a commit timestamp.`;
      });
      continue;
    }
    if (commit <= start) {
      anomalies.add("timestamps", [transaction], () => `${transaction} committed at or below its start.`);
    }
    const other = committed.get(commit);
    if (other === undefined) committed.set(commit, transaction);
    else {
      anomalies.add("timestamps", [other, transaction], () => {
        return `${other} and ${transaction} have the same commit timestamp, ${commit}.`;
      });
    }
  }
}

function readsCell(transaction: CheckedTransaction, cell: Cell): boolean {
  let reads = false;
  transaction.observe((observation) => {
    reads ||= observation.cell === cell && !transaction.hadWritten(observation);
  });
  return reads;
}
