/**
 * `percolatordb/dashboard`: serves the dashboard, and metrics for Prometheus, from a program of
 * your own.
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
