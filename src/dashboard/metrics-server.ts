import type { Database } from "../database/index.js";
import { MetricsPages, type MetricsPagesOptions } from "./metrics-pages.js";
import { type MetricsServer, type PlainServerOptions, servePlain } from "./plain-pages.js";

/** What {@link serveMetrics} takes. */
export interface MetricsServerOptions extends MetricsPagesOptions, PlainServerOptions {}

/**
 * Serves the metrics of a database in this process to Prometheus, at `/metrics`; `/healthz`, which answers 200 while the process is alive
 * and the database open; and `/readyz`, which answers 200 while transactions can be done, and else 503 with what is away. Each answers
 * within a second, whatever is away. Lives until it is closed; close it before the database.
 *
 * @throws InvalidArgumentError for an address that is taken or is none of this machine's, and for one that other machines reach without a
 * token.
 *
 * @example
 * await using metrics = await serveMetrics(db, { port: 9464 });
 */
export async function serveMetrics(db: Database, options: MetricsServerOptions = {}): Promise<MetricsServer> {
  const pages = new MetricsPages(db, options);
  return await servePlain(options, pages.pages, () => pages.end());
}
