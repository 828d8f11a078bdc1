/** The answer of a page. It takes at most a second, because a scraper gives up soon. */
export interface PlainAnswer {
  readonly status: 200 | 503;
  readonly text: string;
}

/**
 * Pages of plain text by their paths: `/metrics` for Prometheus, `/healthz` and `/readyz` for
 * probes.
 */
export type PlainPages = Readonly<Record<string, (() => Promise<PlainAnswer>) | undefined>>;
