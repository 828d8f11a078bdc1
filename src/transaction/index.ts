export { ActiveTransactions, heldMs } from "./active.js";
export { checkRows } from "./argument-errors.js";
export { BackgroundWork } from "./background.js";
export type { BufferedWrite } from "./buffer.js";
export {
  addressKey,
  type CellAddress,
  isSameCell,
  rowKey,
  showCell,
  showColumn,
  showRow,
} from "./cell/address.js";
export type { CommittedCell, CommittedRow } from "./cell/committed.js";
export { KnownLoads, loadRowPrefix, loadStateCell, publishedState } from "./cell/known-loads.js";
export { after } from "./cell/raw.js";
export { walkCells } from "./cell/raw-walk.js";
export {
  checkedTimestamp,
  decodeLock,
  decodeStatus,
  decodeWrite,
  encodeTimestamp,
  encodeWrite,
  type LockRecord,
  type StatusRecord,
  type WriteKind,
  type WriteRecord,
} from "./cell/records.js";
export { hintTable, isSystemTable, safepointCell, systemCell, systemTable } from "./cell/system.js";
export { isUserColumn, systemColumnMark, userAndObserverColumns, userColumns } from "./cell/user-columns.js";
export { conflictCell } from "./commit/conflict.js";
export { contains, LoadedRanges, type LoadToKeepOut, overlap } from "./commit/load-barrier.js";
export { crashRecordTimestamp, putHint } from "./commit/one-phase.js";
export type {
  ColumnObserver,
  DroppedNames,
  FeedsOfColumns,
  Hint,
  Liveness,
  LoadBarrier,
  LoadBarrierRequest,
  Notifications,
  ObservedColumns,
  RowRange,
  Schemas,
  TransactionContext,
  TransactionSettings,
} from "./context.js";
export { type CoreOptions, CoreTransaction, type Isolation } from "./core.js";
export { type Deadline, deadline, overdue } from "./deadline.js";
export { decodeFeedEntry, type FeedEntry, type HandledCell } from "./feed/feed-entry.js";
export {
  afterFeed,
  announcedUs,
  type FeedOrder,
  feedOfRow,
  feedOrders,
  feedRow,
  feedTable,
  timestampOfFeedRow,
} from "./feed/feed-rows.js";
export { LockResolver } from "./lock/resolve.js";
export { type CheckOptions, check, type Problem } from "./maintenance/check.js";
export { type CollectOptions, type CollectReport, collect } from "./maintenance/collect.js";
export {
  checkNotMilliseconds,
  dateToTimestamp,
  type HistoryEntry,
  type HistoryOptions,
  history,
  timestampToDate,
} from "./maintenance/history.js";
export {
  type InspectedColumn,
  inspectRow,
  type LockInfo,
  listLocks,
  resolveLock,
} from "./maintenance/inspect.js";
export { rewriteCell } from "./maintenance/rewrite.js";
export { isSelected } from "./read/merge.js";
export type { ReadHow, ReadPredictor } from "./read/read-predictor.js";
export { SnapshotReader } from "./read/reader.js";
export {
  type ScanItem,
  type Scannable,
  type ScanOptions,
  scanRange,
  scanTarget,
  type ValueOfScanned,
} from "./read/scan-target.js";
export { Snapshot, type SnapshotSettings } from "./read/snapshot.js";
export type { EntriesOptions, Entry } from "./read/view.js";
export { type EndTurn, RowTurns } from "./row-turns.js";
export { Safepoint } from "./safepoint.js";
export { type CommitHooks, noHooks, type ReadInfo, type StepInfo, type StepName } from "./steps.js";
export {
  checkTimeout,
  isThenable,
  type TransactionOptions,
  type TransactOptions,
  transact,
} from "./transact.js";
export { refuseSource, Transaction } from "./transaction.js";
export { joinMutations } from "./wire/joined-mutations.js";
export { countRequests, countTimestamps } from "./wire/request-counter.js";
export { Yielding } from "./yielding.js";
