export { buildContext } from "./context.js";
export { Database, type DatabaseStatus } from "./database.js";
export type { Location } from "./location.js";
export { open } from "./open.js";
export type { Logger, OpenOptions } from "./options.js";
export type { SnapshotOptions } from "./snapshots.js";
