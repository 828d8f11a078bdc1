export { type BigtableStoreOptions, openBigtableStore } from "./open.js";
export { planTables, type TablePlan } from "./plan.js";
