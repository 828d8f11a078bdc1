export {
  findPostgresDatabase,
  openPostgresStore,
  type PostgresClient,
  type PostgresPool,
  type PostgresQuery,
  type PostgresSettings,
  type PostgresStoreOptions,
  postgresStore,
} from "../store/postgres/index.js";
export { type AttachedColumns, type AttachOptions, attach } from "./attach/attach.js";
export type { LockOptions } from "./attach/brief-lock.js";
export { type CopyOptions, type CopyProgress, copyTables } from "./attach/copy-tables.js";
export { attachTables, detachTable } from "./attach/install.js";
export { type AttachedTableStatus, type AttachedTablesOptions, attachedTables } from "./attach/status.js";
export { dropPostgresViews, postgresViews } from "./views/install.js";
export type {
  PostgresView,
  PostgresViewsOptions,
  PostgresViewsProgress,
  PostgresViewsReport,
  ViewNames,
} from "./views/options.js";
