export { openBigtableStore } from "./open.js";
export type { BigtableStoreOptions } from "./options.js";
export { planTables } from "./plan.js";
export type { TablePlan } from "./table/table-plan.js";
