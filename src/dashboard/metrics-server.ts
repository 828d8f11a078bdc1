import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Database } from "../database/index.js";
import { type Environment, systemEnvironment } from "../environment/index.js";
import { InvalidArgumentError } from "../errors/index.js";
import { prometheusText } from "../events/index.js";
import { exposedGauges, readStanding, type Standing } from "./gauges.js";

export interface MetricsServerOptions {
  /** Default: 127.0.0.1, so that only this machine reaches it. */
  readonly host?: string | undefined;
  /** Default: 0, a free one. */
  readonly port?: number | undefined;
  /** Added to every sample. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly environment?: Environment | undefined;
}

export interface MetricsServer {
  /** Where `/metrics` is. */
  readonly url: string;
  /** Ends what is under way, and waits for it. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What stands in the store is not looked at more often than this, in milliseconds, however often it is asked for. */
const standingMs = 10_000;

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
  const pages = new Pages(db, options);
  const server = createServer((request, response) => void pages.answer(request, response));
  await listen(server, host, port);
  const close = async () => {
    pages.end();
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const { port: given } = server.address() as AddressInfo;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${given}/metrics`;
  return { url, close, [Symbol.asyncDispose]: close };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (cause) {
    throw new InvalidArgumentError(
      `Metrics cannot be served at ${host}:${port}: ${(cause as Error).message}. Name a free port of this machine.`,
      { cause },
    );
  }
}

class Pages {
  readonly #db: Database;
  readonly #options: MetricsServerOptions;
  readonly #environment: Environment;
  readonly #ending = new AbortController();
  #standing: Promise<Standing> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database, options: MetricsServerOptions) {
    this.#db = db;
    this.#options = options;
    this.#environment = options.environment ?? systemEnvironment;
  }

  end(): void {
    this.#ending.abort();
  }

  async answer({ method, url = "/" }: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(url, "http://localhost");
    const page = pathname === "/metrics" ? this.#metrics : pathname === "/healthz" ? this.#health : undefined;
    if (page === undefined) return send(response, 404, "There are /metrics and /healthz.\n");
    if (method !== "GET" && method !== "HEAD") return send(response, 405, "Only GET is answered.\n");
    try {
      send(response, 200, await page.call(this));
    } catch (error) {
      send(response, 503, `${error instanceof Error ? error.message : String(error)}\n`);
    }
  }

  async #metrics(): Promise<string> {
    const standing = await this.#look();
    return prometheusText(this.#db.metrics, exposedGauges(standing), this.#options.labels);
  }

  async #health(): Promise<string> {
    await this.#db.status();
    return "ok\n";
  }

  /** One look for all who ask within some seconds; one that failed counts for nobody after it. */
  #look(): Promise<Standing> {
    const now = this.#environment.monotonic();
    if (this.#standing === undefined || now - this.#lookedAt >= standingMs) {
      this.#lookedAt = now;
      const looking = readStanding(this.#db, this.#environment.now(), this.#ending.signal);
      this.#standing = looking;
      looking.catch(() => {
        if (this.#standing === looking) this.#standing = undefined;
      });
    }
    return this.#standing;
  }
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; version=0.0.4; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}
