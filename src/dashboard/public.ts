/**
 * The dashboard, and the metrics that Prometheus scrapes, served by a program of one's own: `percolatordb/dashboard`.
 */
export {
  type MetricsServer,
  type MetricsServerOptions,
  type PlainServerOptions,
  serveCoordinatorMetrics,
  serveMetrics,
} from "./metrics/metrics-server.js";
export { type DashboardHandler, dashboardHandler } from "./server/handler.js";
export type { DashboardHandlerOptions, DashboardOptions } from "./server/options.js";
export { type DashboardServer, serveDashboard } from "./server/server.js";
