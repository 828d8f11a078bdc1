/**
 * The part of this room that serves and records, for commands: `loadServing` of `index.ts` loads
 * it.
 */
export { serveCoordinatorMetrics, serveMetrics } from "./metrics/metrics-server.js";
export { Recorder } from "./recording/recorder.js";
export { serveDashboard } from "./server/server.js";
export { LocalSource } from "./sources/local.js";
