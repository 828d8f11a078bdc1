export type {
  HorizonHolder,
  PostgresFacts,
  SlotFacts,
  StandbyFacts,
  TableFacts,
} from "./health/facts.js";
export { examinePostgres, findPostgresDatabase, openPostgresStore, postgresStore } from "./open.js";
export type { PostgresSettings, PostgresStoreOptions } from "./options.js";
export { checkWritable, type Setting, settingOf } from "./store.js";
export { quoteSchema, quoteText } from "./table/names.js";
export type { PostgresClient, PostgresPool, PostgresQuery } from "./wire/client.js";
export {
  type Connections,
  type Held,
  plannedEachTime,
  type Statement,
  statement,
} from "./wire/connections.js";
