export { type Backlog, countBacklog } from "./backlog.js";
export { type GaugeDescription, gaugeCatalogue } from "./gauges.js";
export { type MetricsServer, type MetricsServerOptions, serveMetrics } from "./metrics-server.js";
