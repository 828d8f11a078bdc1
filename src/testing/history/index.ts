export type { Anomaly, AnomalyKind } from "./check/anomaly.js";
export { type CheckHistoryOptions, checkHistory, type HistoryReport } from "./check/check.js";
export { toElle } from "./elle.js";
export type {
  AuditedVersion,
  CellName,
  History,
  HistoryAudit,
  InitialCell,
  Interval,
  RecordedOperation,
  RecordedOutcome,
  RecordedRange,
  RecordedRead,
  RecordedTransaction,
  RecordedValue,
  RecordedWrite,
  ShownCell,
} from "./history.js";
export {
  HistoryRecorder,
  type HistoryRecorderOptions,
  type RecordedClient,
  type RecordedDatabase,
} from "./record/recorder.js";
