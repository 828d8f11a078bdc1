export { watchOutcomes } from "./outcomes.js";
export type { AnsweredRead } from "./reads.js";
export type { AtRestOptions } from "./rest.js";
export { ownTables } from "./stored-versions.js";
export type { Violation } from "./violation.js";
export { ProtocolWatcher, type ProtocolWatcherOptions } from "./watcher.js";
