/** What serves and records. Commands that do neither do not load it: see `loadServing`. */
export { serveCoordinatorMetrics, serveMetrics } from "./metrics/metrics-server.js";
export { Recorder } from "./recording/recorder.js";
export { serveDashboard } from "./server/server.js";
export { LocalSource } from "./sources/local.js";
