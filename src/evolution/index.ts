export { type DropReport, type DropTarget, drop, release } from "./drop.js";
export { type ExpireOptions, expire, expiries, type TableExpiry } from "./expire.js";
export type { RebuildDue } from "./lookup-versions.js";
export {
  type FailedMigration,
  type MigrateOptions,
  type MigrateReport,
  migrate,
} from "./migrate.js";
export type { PassOptions, PassProgress, UnfinishedPass } from "./pass.js";
export type { PassKind } from "./pass-record.js";
export {
  type DroppedName,
  type SchemaAction,
  type SchemaDifference,
  type SchemaReport,
  schemaReport,
} from "./schema-report.js";
