export { type BigtableStoreOptions, openBigtableStore } from "./open.js";
export { planTables } from "./plan.js";
export type { TablePlan } from "./table/tables.js";
