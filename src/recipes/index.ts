/** What many programs need on top of transactions and observers, made of nothing but those. */

export { type ClearedRange, type ClearOptions, clearRange } from "./clear-range.js";
export {
  type CombinedChange,
  type CombineOptions,
  CombineQueue,
  type CounterOptions,
  combineQueue,
  combiningCounter,
} from "./combine-queue.js";
export { exportToFile, readExportFile } from "./export-file.js";
export {
  type Deliver,
  type ExportEntry,
  type ExportOptions,
  ExportQueue,
  ExportQueueFullError,
  exportQueue,
} from "./export-queue.js";
export {
  type ColumnKeeper,
  ColumnWriter,
  columnWriter,
  isColumnKeeper,
  type KeptChange,
} from "./kept-column.js";
export {
  type AcquireOptions,
  RateLimit,
  RateLimitError,
  type RateLimitOptions,
  rateLimit,
  type Taken,
  type TakeOptions,
} from "./rate-limit.js";
export {
  type AnySchedule,
  isSchedule,
  Schedule,
  type ScheduledChange,
  type ScheduleOptions,
  type ScheduleWorkOptions,
  schedule,
} from "./schedule.js";
export type { ParkedScheduledChange } from "./schedule-parked.js";
export {
  EventualIndex,
  ExactIndex,
  eventualIndex,
  exactIndex,
  type IndexEntry,
  type IndexOptions,
  type IndexRange,
  SecondaryIndex,
} from "./secondary-index.js";
export { type SpreadOptions, type SpreadRow, SpreadTable, spreadTable } from "./spread-table.js";
export { UniqueConstraint, UniqueConstraintError, uniqueConstraint } from "./unique-constraint.js";
export type { View } from "./view.js";
