import type { History, RecordedTransaction } from "../history.js";
import { Anomalies, type Anomaly, type AnomalyKind } from "./anomaly.js";
import { checkAudit } from "./check-audit.js";
import { checkSerializable, checkSnapshotCycles } from "./check-cycles.js";
import { checkLosses } from "./check-losses.js";
import { checkReads } from "./check-reads.js";
import { checkRealTime } from "./check-real-time.js";
import { checkSessions } from "./check-sessions.js";
import { checkTimestamps, checkWriters } from "./check-writers.js";
import { CellIndex, CheckedTransaction } from "./checked-history.js";
import { classifyWrongReads } from "./classify.js";
import { resolveUnknown } from "./resolve-unknown.js";

/** The options of {@link checkHistory}. */
export interface CheckHistoryOptions {
  /** Most anomalies of each kind to keep. All are counted. Default: 10. */
  readonly maxOfAKind?: number | undefined;
}

/** The result of {@link checkHistory}. */
export interface HistoryReport {
  /** Empty if the history is correct. */
  readonly anomalies: readonly Anomaly[];
  /** Count of anomalies of each kind, including those that were not kept. */
  readonly counts: ReadonlyMap<AnomalyKind, number>;
  readonly transactions: number;
  /** Count of transactions reported as committed. */
  readonly committed: number;
  readonly conflicted: number;
  readonly failed: number;
  /**
   * Count of transactions whose outcome was never reported. `resolved` counts those of them that
   * had committed.
   */
  readonly unknown: number;
  readonly resolved: number;
  /**
   * Count of cells that reads have named or ranges have covered. The check compared each of them
   * with its version.
   */
  readonly observations: number;
  readonly ranges: number;
  readonly writes: number;
}

/**
 * Checks a recorded history exactly.
 *
 * - It compares every read with the versions committed at the transaction's start timestamp,
 *   overlaid with its own writes. It compares absent cells and rows too.
 * - Writers of a cell must not overlap.
 * - Later reads must see reported commits, and must not see reported failures. A transaction
 *   without a reported outcome counts as committed if any read saw it. In that case, later reads
 *   must see all its writes.
 * - Start timestamps must follow real time, and a client must never see less than it saw before.
 *   Serializable transactions must have an order that explains their reads.
 *
 * The check takes time proportional to the number of cells read, and to n log n for n transactions.
 *
 * @example
 * const { anomalies, committed } = checkHistory(recorder.history());
 * expect(anomalies).toEqual([]);
 * expect(committed).toBeGreaterThan(0);
 */
export function checkHistory(history: History, options: CheckHistoryOptions = {}): HistoryReport {
  const anomalies = new Anomalies(options.maxOfAKind ?? 10);
  const index = new CellIndex();
  const transactions = history.transactions.map((recorded) => new CheckedTransaction(recorded, index));
  placeVersions(history, transactions, index);
  const { audit } = history;
  if (audit !== undefined) checkAudit(audit, transactions, index, anomalies);
  index.sort();
  resolveUnknown(transactions, audit?.safepoint);
  checkTimestamps(transactions, anomalies);
  const overlapping = checkWriters(index.all, anomalies);
  const counts = { observations: 0, ranges: 0 };
  const wrong = checkReads(transactions, anomalies, counts);
  classifyWrongReads(wrong, anomalies);
  if (wrong.length > 0) checkLosses(transactions, anomalies);
  checkRealTime(transactions, anomalies);
  checkSessions(transactions, anomalies, wrong.length > 0);
  if (anomalies.kept.length > 0) {
    const suspects = new Set([...wrong.map(({ reader }) => reader), ...overlapping]);
    checkSnapshotCycles(transactions, index.all, suspects, anomalies);
  }
  checkSerializable(transactions, index.all, anomalies);
  return {
    anomalies: anomalies.kept,
    counts: anomalies.counts,
    ...countOutcomes(transactions),
    ...counts,
  };
}

function placeVersions(
  history: History,
  transactions: readonly CheckedTransaction[],
  index: CellIndex,
): void {
  for (const { cell, value } of history.initial ?? []) index.cell(cell).add(0, value, undefined);
  for (const transaction of transactions) {
    const { commit, writes } = transaction;
    if (commit === undefined) continue;
    for (const cell of writes.keys()) cell.add(commit, transaction.finalValue(cell), transaction);
  }
}

function countOutcomes(transactions: readonly CheckedTransaction[]) {
  const told = (type: RecordedTransaction["outcome"]["type"]) =>
    transactions.filter(({ recorded }) => recorded.outcome.type === type).length;
  const unknown = transactions.filter(({ recorded }) => recorded.outcome.type === "unknown");
  return {
    transactions: transactions.length,
    committed: told("committed"),
    conflicted: told("conflicted"),
    failed: told("failed"),
    unknown: unknown.length,
    resolved: unknown.filter(({ committed }) => committed).length,
    writes: transactions.reduce((sum, { writes }) => sum + writes.size, 0),
  };
}
