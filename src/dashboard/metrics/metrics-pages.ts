import type { Database, DatabaseReach, SignOfLife } from "../../database/index.js";
import { type Environment, SingleFlight, sleep, systemEnvironment } from "../../environment/index.js";
import { ClosedError } from "../../errors/index.js";
import { prometheusText } from "../../events/index.js";
import { exposedGauges, readStanding, type Standing } from "./gauges.js";
import type { PlainAnswer, PlainPages } from "./plain-pages.js";

export interface MetricsPagesOptions {
  /** Labels added to every sample. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly environment?: Environment | undefined;
  /**
   * Why this process cannot work although store and coordinator answer, for `/readyz`; undefined if
   * it can. Default: it can.
   */
  readonly unready?: (() => string | undefined) | undefined;
}

/** The gauges of the store are counted at most this often, however often a scraper asks. */
const standingMs = 10_000;
/**
 * How long an answer waits for the gauges of the store. If they come later, the next answer has
 * them.
 */
const patienceMs = 500;
/** How long the store and the coordinator may take to answer a probe. */
const reachMs = 700;

/**
 * `/metrics`, `/healthz` and `/readyz` of a database in this process. None waits for a store or
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
  #standing: Standing | undefined;
  /** The look at the store that is under way. */
  #looking: Promise<void> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #hasFailed = false;
  readonly #reaching = new SingleFlight<DatabaseReach>();

  constructor(db: Database, options: MetricsPagesOptions) {
    this.#db = db;
    this.#options = options;
    this.#environment = options.environment ?? systemEnvironment;
  }

  close(): void {
    this.#ending.abort();
  }

  async #metrics(): Promise<PlainAnswer> {
    const [reach] = await Promise.all([this.#reach(), this.#look()]);
    const isStale = this.#hasFailed || this.#looking !== undefined;
    const sampled = { reach, standing: this.#standing, isStale, now: this.#environment.now() };
    const text = prometheusText(this.#db.metrics, exposedGauges(sampled), this.#options.labels);
    return { status: 200, text };
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

  /** One probe for all requests at the same time. */
  #reach(): Promise<DatabaseReach> {
    return this.#reaching.run(() => this.#db.reach({ timeoutMs: reachMs }));
  }

  /**
   * Starts a look at the store if the last one is old, and waits for it for `patienceMs`. It goes
   * on in the background.
   */
  async #look(): Promise<void> {
    const now = this.#environment.monotonic();
    if (this.#looking === undefined && (this.#hasFailed || now - this.#lookedAt >= standingMs)) {
      this.#lookedAt = now;
      this.#looking = this.#lookOnce().finally(() => {
        this.#looking = undefined;
      });
    }
    if (this.#looking === undefined) return;
    const late = new AbortController();
    const patience = sleep(this.#environment, patienceMs, late.signal).catch(() => undefined);
    await Promise.race([this.#looking, patience]);
    late.abort();
  }

  async #lookOnce(): Promise<void> {
    try {
      this.#standing = await readStanding(this.#db, this.#environment.now(), this.#ending.signal);
      this.#hasFailed = false;
    } catch (error) {
      if (error instanceof ClosedError) return;
      this.#hasFailed = true;
    }
  }
}

function awayText(what: string, sign: SignOfLife | undefined): readonly string[] {
  return sign === undefined || sign.answers ? [] : [`${what}: ${sign.error?.message ?? "no answer"}`];
}
