import { Anomalies, type Anomaly, type AnomalyKind } from "./anomaly.js";
import { CellIndex } from "./cell-index.js";
import { checkAudit } from "./check-audit.js";
import { checkSerializable, checkSnapshotCycles } from "./check-cycles.js";
import { checkLosses } from "./check-losses.js";
import { checkReads } from "./check-reads.js";
import { checkRealTime } from "./check-real-time.js";
import { checkSessions } from "./check-sessions.js";
import { checkTimestamps, checkWriters } from "./check-writers.js";
import { CheckedTransaction } from "./checked-transaction.js";
import { classifyWrongReads } from "./classify.js";
import type { History, RecordedTransaction } from "./history.js";
import { resolveUnknown } from "./resolve-unknown.js";

/** What {@link checkHistory} takes. */
export interface CheckHistoryOptions {
  /** The most anomalies of each kind that are kept; all are counted. Default: 10. */
  readonly maxOfAKind?: number | undefined;
}

/** What a history came to. */
export interface HistoryReport {
  /** Empty when the history is sound. */
  readonly anomalies: readonly Anomaly[];
  /** How many of each kind there are, those that were not kept included. */
  readonly counts: ReadonlyMap<AnomalyKind, number>;
  readonly transactions: number;
  /** Told committed. */
  readonly committed: number;
  readonly conflicted: number;
  readonly failed: number;
  /** Never told, and of them those that turned out to have committed. */
  readonly unknown: number;
  readonly resolved: number;
  /** Cells that reads have named or ranges have covered: each was compared with its version. */
  readonly observations: number;
  readonly ranges: number;
  readonly writes: number;
}

/**
 * Checks a history exactly. Every read, of every transaction, is compared with the versions that were committed at its start
 * timestamp, its own writes laid over, and absent cells and rows are compared too. Writers of a cell must not overlap;
 * what was told committed must be seen and what was told failed must not; who was told nothing is resolved by what was
 * seen of him, all or nothing; real time and sessions must hold; and serializable transactions must have an order. Takes
 * time in proportion to the cells that were read, and n log n of the transactions.
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
