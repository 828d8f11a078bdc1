export { Emitter } from "./emitter.js";
export type { EventListener, EventMap, EventName, RequestKind } from "./events.js";
export {
  type Distribution,
  Metrics,
  type MetricsSnapshot,
  type ObserverMetrics,
  type RequestMetrics,
} from "./metrics.js";
