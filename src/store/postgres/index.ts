export { findPostgresDatabase, openPostgresStore, postgresStore } from "./open.js";
export type { PostgresSettings, PostgresStoreOptions } from "./options.js";
export type { PostgresClient, PostgresPool, PostgresQuery } from "./wire/client.js";
