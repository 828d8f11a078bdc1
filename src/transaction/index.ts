export { ActiveTransactions, heldMs } from "./active.js";
export {
  addressKey,
  byteString,
  type CellAddress,
  isSameCell,
  rowKey,
  showCell,
  showColumn,
  showRow,
} from "./address.js";
export { BackgroundWork } from "./background.js";
export type { BufferedWrite } from "./buffer.js";
export { type CheckOptions, check, type Problem } from "./check.js";
export { type CollectOptions, type CollectReport, collect } from "./collect.js";
export type { CommittedCell, CommittedRow } from "./committed.js";
export { conflictCell } from "./conflict.js";
export type {
  ColumnObserver,
  Hint,
  Liveness,
  Notifications,
  ObservedColumns,
  Schemas,
  TransactionContext,
  TransactionSettings,
} from "./context.js";
export { type CoreOptions, CoreTransaction, type Isolation } from "./core.js";
export { countRequests, countTimestamps } from "./count-requests.js";
export { type Deadline, deadline } from "./deadline.js";
export { Fairness } from "./fairness.js";
export type { Foresight, ReadHow } from "./foresight.js";
export { dateToTimestamp, type HistoryEntry, history, timestampToDate } from "./history.js";
export { type InspectedColumn, inspectRow, type LockInfo, listLocks, resolveLock } from "./inspect.js";
export { presentMoment } from "./moment.js";
export { crashRecordTimestamp, putHint } from "./one-phase.js";
export { after } from "./raw.js";
export { SnapshotReader } from "./reader.js";
export {
  asBuffer,
  checkedTimestamp,
  decodeLock,
  decodeStatus,
  decodeWrite,
  encodeTimestamp,
  encodeWrite,
  type LockRecord,
  readTimestamp,
  type StatusRecord,
  type WriteKind,
  type WriteRecord,
  writeTimestamp,
} from "./records.js";
export { LockResolver } from "./resolve.js";
export { type EndTurn, RowTurns } from "./row-turns.js";
export { Safepoint } from "./safepoint.js";
export type { ScanItem, Scannable, ScanOptions, ValueOfScanned } from "./scan-target.js";
export { Snapshot } from "./snapshot.js";
export { type CommitHooks, noHooks, type ReadInfo, type StepInfo, type StepName } from "./steps.js";
export { hintTable, isSystemTable, safepointCell, systemCell, systemTable } from "./system.js";
export {
  checkTimeout,
  isThenable,
  type TransactionOptions,
  type TransactOptions,
  transact,
} from "./transact.js";
export { Transaction } from "./transaction.js";
export type { EntriesOptions, Entry } from "./view.js";
