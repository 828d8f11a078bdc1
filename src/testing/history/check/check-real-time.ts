import type { Anomalies } from "./anomaly.js";
import type { CheckedTransaction } from "./checked-history.js";

/**
 * Checks that a transaction starts at or above every commit timestamp that was reported before it
 * began.
 */
export function checkRealTime(transactions: readonly CheckedTransaction[], anomalies: Anomalies): void {
  const told = transactions
    .filter(({ recorded, commit }) => {
      return recorded.outcome.type === "committed" && recorded.ended !== undefined && commit !== undefined;
    })
    .sort((a, b) => a.recorded.ended! - b.recorded.ended!);
  const beginning = transactions
    .filter(({ recorded }) => recorded.begun !== undefined)
    .sort((a, b) => a.recorded.begun! - b.recorded.begun!);
  let next = 0;
  let newest: CheckedTransaction | undefined;
  for (const transaction of beginning) {
    while (next < told.length && told[next]!.recorded.ended! < transaction.recorded.begun!) {
      const each = told[next++]!;
      if (newest === undefined || each.commit! > newest.commit!) newest = each;
    }
    if (newest === undefined || transaction.start >= newest.commit!) continue;
    const before = newest;
    anomalies.add("real-time", [before, transaction], () => {
      return `${transaction} began after ${before} was reported as committed, but starts below its commit timestamp: its reads are stale.`;
    });
  }
}
