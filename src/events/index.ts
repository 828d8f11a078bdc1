export { Emitter } from "./emitter.js";
export type { EventListener, EventMap, EventName } from "./events.js";
export { type Distribution, Metrics, type MetricsSnapshot, type ObserverMetrics } from "./metrics.js";
