/**
 * The parts of this folder that the command line uses. Programs use `percolatordb/dashboard`, which
 * is `public.ts`.
 */
export type * from "./api/index.js";
export { lookAtAttached } from "./attached.js";
export { type Backlog, countBacklog } from "./backlog.js";
export { type FailureGroup, FailureGroups, isMeant as isFailureMeant } from "./failures/groups.js";
export { type CoordinatorMetric, coordinatorCatalogue } from "./metrics/coordinator-metrics.js";
export { type GaugeDescription, gaugeCatalogue } from "./metrics/gauges.js";
export type { MetricsServer, MetricsServerOptions, PlainServerOptions } from "./metrics/metrics-server.js";
export { type Overdue, overdueSchedules } from "./overdue.js";
export type { Report, ReportRequest } from "./recording/report.js";
export type { DashboardOptions } from "./server/options.js";
export type { DashboardServer } from "./server/server.js";
export { LocalSource } from "./sources/local.js";
export type { ReportSource } from "./sources/source.js";
export { columnText } from "./text/cells.js";
export { inspectedText, inspectedValue, statusText, writeText } from "./text/inspected.js";
export { type KnownTables, knownTables, sharedTables } from "./text/tables.js";

/** Loads the servers at first use: most commands need none. */
export const loadServing = () => import("./public.js");
