/** Recipes for common needs, built only on transactions and observers. */

export { type ClearedRange, type ClearOptions, clearRange, type RowLookup } from "./clear-range.js";
export type {
  AggregateColumns,
  AggregateOptions,
  GroupKey,
  GroupRow,
  TopEntry,
  TopOptions,
} from "./derive/aggregate-options.js";
export {
  type AnyDerivation,
  type BackfillDerivationOptions,
  type CompareOptions,
  Derivation,
  type DerivationOptions,
  type DerivedDifference,
  type DerivedRow,
  isDerivation,
} from "./derive/derivation.js";
export { derive } from "./derive/derive.js";
export {
  DerivedIndex,
  type DerivedIndexOptions,
  type IndexRow,
  type IndexTable,
} from "./derive/derived-index.js";
export type {
  JoinColumns,
  JoinedValues,
  JoinOptions,
  LeftJoinOptions,
} from "./derive/join.js";
export type { Rankable } from "./derive/ranked.js";
export type { AnyRow, ColumnNames, SourceRow } from "./derive/source.js";
export type { KeyOfParts, KeyParts } from "./key-parts.js";
export {
  type ColumnKeeper,
  ColumnWriter,
  columnWriter,
  isColumnKeeper,
  type KeptChange,
} from "./lookup/kept-column.js";
export { type AnyLookup, isLookup } from "./lookup/lookup.js";
export type {
  DuplicateValue,
  RebuildOptions,
  RebuildProgress,
  RebuildReport,
} from "./lookup/rebuild.js";
export {
  EventualIndex,
  ExactIndex,
  eventualIndex,
  exactIndex,
  type FindOptions,
  type IndexEntry,
  type IndexOptions,
  type IndexRange,
  SecondaryIndex,
} from "./lookup/secondary-index.js";
export {
  UniqueConstraint,
  UniqueConstraintError,
  type UniqueOptions,
  uniqueConstraint,
} from "./lookup/unique-constraint.js";
export {
  type BackfillQueueOptions,
  type CombinedChange,
  type CombineOptions,
  CombineQueue,
  type CounterOptions,
  combineQueue,
  combiningCounter,
} from "./queue/combine-queue.js";
export { exportToFile, readExportFile } from "./queue/export-file.js";
export {
  type Deliver,
  type ExportEntry,
  type ExportOptions,
  ExportQueue,
  ExportQueueFullError,
  exportQueue,
} from "./queue/export-queue.js";
export { type SpreadOptions, type SpreadRow, SpreadTable, spreadTable } from "./spread-table.js";
export {
  type AcquireOptions,
  RateLimit,
  RateLimitError,
  type RateLimitOptions,
  rateLimit,
  type Taken,
  type TakeOptions,
} from "./time/rate-limit.js";
export {
  type AnySchedule,
  isSchedule,
  Schedule,
  type ScheduledChange,
  type ScheduleOptions,
  type ScheduleWorkOptions,
  schedule,
} from "./time/schedule.js";
export type { ParkedScheduledChange } from "./time/schedule-parked.js";
export type { View } from "./view.js";
