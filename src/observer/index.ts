export {
  type Acknowledgment,
  decodeAcknowledgment,
  parseRecordColumn,
  type RecordColumn,
} from "./acknowledgment.js";
export {
  type BackfillOptions,
  type BackfillProgress,
  type BackfillRange,
  type BackfillReport,
  backfill,
} from "./backfill.js";
export type { ObservedCell } from "./cell-of.js";
export type { Change, ColumnChange, FamilyChange, SignalChange } from "./change.js";
export type { ClaimKey, Cluster, ClusterActivity } from "./cluster.js";
export { isBeyondBelief } from "./expiry.js";
export type { FailureText } from "./failure.js";
export { parseHintRow } from "./hint.js";
export type { DrainOptions, DrainProgress, IdleOptions } from "./idle.js";
export { type DueCell, markDue } from "./mark-due.js";
export { isObserver, type Observer, observer } from "./observer.js";
export type { ObserverOptions } from "./options.js";
export {
  discardParked,
  listParked,
  type ParkedChange,
  type ParkedOptions,
  retryParked,
} from "./parked.js";
export { parkedTable } from "./parked-entry.js";
export { listPending, type PendingChange, type PendingOptions, pendingOfRow } from "./pending.js";
export { type PoolOptions, WorkerPool, type WorkOptions } from "./pool.js";
export type { ObserverRecord, RegisteredObserver } from "./registered.js";
export { Registry, type RegistryOptions } from "./registry.js";
export { registryRows } from "./registry-cells.js";
export { type RegistryCell, type RegistryView, registryOf } from "./registry-view.js";
export { type HostedObservers, type SessionRecord, strayedSessions } from "./session-records.js";
export { Sessions, type SessionsOptions } from "./sessions.js";
export { decodeJson, isTime, isWhole, record } from "./stored-json.js";
export { type UnregisterOptions, unregister } from "./unregister.js";
export { type StopOptions, Worker, type WorkerReadiness } from "./worker.js";
