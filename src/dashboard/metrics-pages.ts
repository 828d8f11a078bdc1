import type { IncomingMessage, ServerResponse } from "node:http";
import type { Database } from "../database/index.js";
import { type Environment, systemEnvironment } from "../environment/index.js";
import { prometheusText } from "../events/index.js";
import { exposedGauges, readStanding, type Standing } from "./gauges.js";

export interface MetricsPagesOptions {
  /** Added to every sample. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly environment?: Environment | undefined;
}

/** What stands in the store is not looked at more often than this, in milliseconds, however often it is asked for. */
const standingMs = 10_000;

/** Paths are relative to it; nobody looks at it. */
const origin = "http://localhost";

/** `/metrics` and `/healthz` of a database in this process. */
export class MetricsPages {
  readonly #db: Database;
  readonly #options: MetricsPagesOptions;
  readonly #environment: Environment;
  readonly #ending = new AbortController();
  #standing: Promise<Standing> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database, options: MetricsPagesOptions) {
    this.#db = db;
    this.#options = options;
    this.#environment = options.environment ?? systemEnvironment;
  }

  end(): void {
    this.#ending.abort();
  }

  /** Never rejects. */
  async answer({ method, url = "/" }: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (!URL.canParse(url, origin)) return send(response, 400, "The address is none.\n");
      await this.answerPath(method, new URL(url, origin).pathname, response);
    } catch {
      response.destroy();
    }
  }

  /** As {@link answer}, of a path that begins behind what is served besides. */
  async answerPath(method: string | undefined, pathname: string, response: ServerResponse): Promise<void> {
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
