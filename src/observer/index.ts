export type { Change, ColumnChange, FamilyChange, RowChange, SignalChange } from "./change.js";
export type { ClaimKey, Cluster, ClusterActivity } from "./cluster.js";
export { isBeyondBelief } from "./expiry.js";
export {
  type Acknowledgment,
  acknowledgmentPrefix,
  decodeAcknowledgment,
  parseRecordColumn,
  type RecordColumn,
} from "./hint/acknowledgment.js";
export { type FailureText, serviceFailure } from "./hint/failure.js";
export { parseHintRow } from "./hint/hint.js";
export { parkedTable } from "./hint/parked-entry.js";
export { discardLoad, listLoads } from "./load/discard.js";
export { load } from "./load/load.js";
export {
  type DiscardLoadOptions,
  type LoadInfo,
  type LoadOptions,
  type LoadPart,
  type LoadProgressReport,
  type LoadRange,
  type LoadReport,
  type LoadRow,
  type LoadRows,
  loadPart,
} from "./load/options.js";
export {
  batchObserver,
  batchRowObservers,
  isObserver,
  type Observer,
  observer,
  rowObservers,
} from "./observer.js";
export type { BatchOptions, ObserverOptions } from "./options.js";
export {
  type BackfillOptions,
  type BackfillProgress,
  type BackfillRange,
  type BackfillReport,
  backfill,
} from "./registry/backfill.js";
export { nameCell, type ObservedCell, registeredObserver } from "./registry/cell-of.js";
export type { RegistryCell } from "./registry/cells.js";
export {
  droppedCell,
  registryRows,
  type StoredDropped,
  tableCell,
  wholeTable,
} from "./registry/cells.js";
export type { DroppedRecords } from "./registry/dropped.js";
export { type CellState, readCellState } from "./registry/due.js";
export { type LoadRecord, loadRowsPrefix } from "./registry/load-record.js";
export { type DueCell, markDue } from "./registry/mark-due.js";
export { type HandledCellOf, markHandled } from "./registry/mark-handled.js";
export {
  discardParked,
  listParked,
  type ParkedChange,
  type ParkedOptions,
  parkedAt,
  parkedChangeOf,
  retryParked,
} from "./registry/parked.js";
export {
  hasHint,
  hintedCells,
  listPending,
  type PendingChange,
  type PendingOptions,
  pendingOfRow,
} from "./registry/pending.js";
export type { RecentCommit, RecentCommits, RecentHint } from "./registry/recent-commits.js";
export { isOf, type ObserverRecord, type RegisteredObserver } from "./registry/registered.js";
export { type FeedRecord, followsSame } from "./registry/registered-feed.js";
export { Registry, type RegistryOptions } from "./registry/registry.js";
export { type UnregisterOptions, unregister } from "./registry/unregister.js";
export { type RegistryView, registryOf } from "./registry/view.js";
export {
  endSessions,
  type HostedObservers,
  type SessionRecord,
  type SessionVitals,
  strayedSessions,
} from "./session/session-records.js";
export { type LiveSession, Sessions, type SessionsOptions } from "./session/sessions.js";
export type { SilentSession } from "./session/silent-sessions.js";
export {
  decodeJson,
  encodeJson,
  type Guard,
  isAmount,
  isHex,
  isString,
  isTime,
  isWhole,
  listOf,
  nullable,
  record,
} from "./stored-json.js";
export type { DrainOptions, DrainProgress, IdleOptions } from "./worker/idle.js";
export { type PoolOptions, WorkerPool, type WorkOptions } from "./worker/pool.js";
export { type StopOptions, Worker, type WorkerReadiness } from "./worker/worker.js";
