/**
 * The dashboard, and the metrics that Prometheus scrapes, served by a program of one's own: `percolatordb/dashboard`.
 */
export { serveCoordinatorMetrics } from "./coordinator-metrics.js";
export { type MetricsServerOptions, serveMetrics } from "./metrics-server.js";
export type { MetricsServer, PlainServerOptions } from "./plain-pages.js";
export { type DashboardHandler, dashboardHandler } from "./server/handler.js";
export type { DashboardHandlerOptions, DashboardOptions } from "./server/options.js";
export { type DashboardServer, serveDashboard } from "./server/server.js";
