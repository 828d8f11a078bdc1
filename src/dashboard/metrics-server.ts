import { createServer } from "node:http";
import type { Database } from "../database/index.js";
import { MetricsPages, type MetricsPagesOptions } from "./metrics-pages.js";
import { endServer, listen, originOf } from "./server/listen.js";

/** What {@link serveMetrics} takes. */
export interface MetricsServerOptions extends MetricsPagesOptions {
  /** Default: 127.0.0.1, so that only this machine reaches it. */
  readonly host?: string | undefined;
  /** Default: 0, a free one. */
  readonly port?: number | undefined;
}

/** A server of `/metrics`, as {@link serveMetrics} starts one. */
export interface MetricsServer {
  /** Where `/metrics` is. */
  readonly url: string;
  /** Ends what is under way, and waits for it. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Serves the metrics of a database in this process to Prometheus, at `/metrics`, and `/healthz`, which answers 200 while the store
 * does. Lives until it is closed; close it before the database.
 *
 * @throws InvalidArgumentError where the address is taken or is none of this machine's.
 *
 * @example
 * await using metrics = await serveMetrics(db, { port: 9464 });
 */
export async function serveMetrics(db: Database, options: MetricsServerOptions = {}): Promise<MetricsServer> {
  const { host = "127.0.0.1", port = 0 } = options;
  const pages = new MetricsPages(db, options);
  const server = createServer((request, response) => void pages.answer(request, response));
  await listen(server, "Metrics", host, port);
  const close = async () => {
    pages.end();
    await endServer(server);
  };
  const url = `${originOf(server, host)}/metrics`;
  return { url, close, [Symbol.asyncDispose]: close };
}
