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
