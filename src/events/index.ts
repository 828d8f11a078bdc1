export {
  eventCatalogue,
  type MetricDescription,
  type MetricSample,
  metricCatalogue,
} from "./catalogue.js";
export { CommitIdGenerator, type CommitSpanIds, commitIdGenerator, type IdGenerator } from "./commit-ids.js";
export { type Distribution, distributionBounds } from "./distribution.js";
export { checkListener, Emitter } from "./emitter.js";
export type {
  Cause,
  EventCell,
  EventListener,
  EventMap,
  EventName,
  RequestKind,
  TransactionSpan,
} from "./events.js";
export { type MeasureOptions, measureDatabase } from "./measure.js";
export type { Histogram, HistogramOptions, Meter } from "./meter.js";
export { Metrics } from "./metrics.js";
export type { MetricsSnapshot, ObserverMetrics, RequestMetrics } from "./metrics-snapshot.js";
export { type ExposedMetric, exposedText, metricPrefix, prometheusText } from "./prometheus.js";
export {
  type TraceOptions,
  traceDatabase,
} from "./trace.js";
export type { Span, SpanContext, SpanOptions, Tracer } from "./tracer.js";
