import type { Database, DatabaseReach, SignOfLife } from "../../database/index.js";
import { type Environment, SingleFlight, systemEnvironment } from "../../environment/index.js";
import { prometheusText } from "../../events/index.js";
import { Shared } from "../sources/shared.js";
import { readStanding, type Standing } from "../standing.js";
import { exposedGauges } from "./gauges.js";
import type { PlainAnswer, PlainPages } from "./plain-pages.js";

export interface MetricsPagesOptions {
  /** Labels added to every sample. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly environment?: Environment | undefined;
  /**
   * For `/readyz`: returns why this process cannot work although the store and the coordinator
   * answer, or undefined if it can work. Default: it can work.
   */
  readonly unready?: (() => string | undefined) | undefined;
}

/**
 * Most changes of one observer to count. Scrapers ask every few seconds, so counting must be quick.
 */
const max = { pending: 10_000, parked: 10_000 };
/** Shortest time between two counts of the store's gauges, however often a scraper asks. */
const standingMs = 10_000;
/**
 * How long an answer waits for the gauges of the store. If the count takes longer, the next answer
 * has them.
 */
const patienceMs = 500;
/** How long the store and the coordinator may take to answer a probe. */
const reachMs = 700;

/**
 * `/metrics`, `/healthz` and `/readyz` of a database in this process. No page waits for a store or
 * coordinator that does not answer.
 */
export class MetricsPages {
  readonly pages: PlainPages = {
    "/metrics": () => this.#metrics(),
    "/healthz": async () => this.#health(),
    "/readyz": () => this.#readiness(),
  };
  readonly #db: Database;
  readonly #options: MetricsPagesOptions;
  readonly #environment: Environment;
  readonly #ending = new AbortController();
  readonly #standing: Shared<Standing>;
  readonly #reaching = new SingleFlight<DatabaseReach>();

  constructor(db: Database, options: MetricsPagesOptions) {
    this.#db = db;
    this.#options = options;
    const environment = options.environment ?? systemEnvironment;
    this.#environment = environment;
    const { signal } = this.#ending;
    this.#standing = new Shared(environment, standingMs, () => readStanding(db, environment, max, signal));
  }

  close(): void {
    this.#ending.abort();
  }

  async #metrics(): Promise<PlainAnswer> {
    const [reach, { value: standing, isStale }] = await Promise.all([
      this.#reach(),
      this.#standing.newest(patienceMs),
    ]);
    const now = this.#environment.now();
    // The next count begins long after a slow one. Until then, only the probe shows that the store
    // no longer answers.
    const isAway = !reach.store.answers && standing !== undefined && now - standing.now >= standingMs;
    const gauges = exposedGauges({ reach, standing, isStale: isStale || isAway, now });
    return { status: 200, text: prometheusText(this.#db.metrics, gauges, this.#options.labels) };
  }

  #health(): PlainAnswer {
    return this.#db.isClosed
      ? { status: 503, text: "The database was closed.\n" }
      : { status: 200, text: "ok\n" };
  }

  async #readiness(): Promise<PlainAnswer> {
    const { store, coordinator, isAble } = await this.#reach();
    const unready = this.#options.unready?.();
    const away = [...awayText("store", store), ...awayText("coordinator", coordinator)];
    const lines = unready === undefined ? away : [...away, unready];
    if (isAble && unready === undefined) return { status: 200, text: ["ok", ...away, ""].join("\n") };
    return { status: 503, text: [...lines, ""].join("\n") };
  }

  /** Concurrent requests share one probe. */
  #reach(): Promise<DatabaseReach> {
    return this.#reaching.run(() => this.#db.reach({ timeoutMs: reachMs }));
  }
}

function awayText(what: string, sign: SignOfLife | undefined): readonly string[] {
  return sign === undefined || sign.answers ? [] : [`${what}: ${sign.error?.message ?? "no answer"}`];
}
