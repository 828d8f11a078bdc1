export interface RateFigure {
  /** Of the repository, in an hour. */
  readonly percent: number;
  readonly perSecond: number;
  readonly loaded: number;
  /** Not clustered when the load ended. */
  readonly late: number;
  readonly p5: number;
  readonly p50: number;
  readonly p95: number;
}

export interface Measured {
  readonly documents: number;
  /** Milliseconds of one batch. */
  readonly batchMs: number;
  readonly hourSeconds: number;
  /** Documents a second when all came at once. */
  readonly fillPerSecond: number;
  readonly rates: readonly RateFigure[];
  /** Percent an hour at which a document waits as long as it would for the batch; undefined where it never did. */
  readonly crossover: number | undefined;
  /** Clusters that were not right in the end. */
  readonly wrong: number;
}

/** A document comes at any time while a batch runs, and waits for its end and for the whole of the next. */
export const batchDelay = (batchMs: number, part: number): number => batchMs * (1 + part);

/** Where the medians cross, on a line between the two rates beside it. */
export function crossoverOf({ rates, batchMs }: Pick<Measured, "rates" | "batchMs">): number | undefined {
  const batch = batchDelay(batchMs, 0.5);
  const above = rates.findIndex(({ p50 }) => p50 > batch);
  if (above < 0) return undefined;
  const [low, high] = [rates[above - 1], rates[above]!];
  if (low === undefined) return high.percent;
  return low.percent + ((batch - low.p50) / (high.p50 - low.p50)) * (high.percent - low.percent);
}

export function describeMeasured(measured: Measured): string {
  const { documents, batchMs, hourSeconds, fillPerSecond, rates, crossover, wrong } = measured;
  const batch = [0.05, 0.5, 0.95].map((part) => ms(batchDelay(batchMs, part)));
  return [
    `${documents.toLocaleString("en")} documents: a batch takes ${ms(batchMs)}, an hour ${hourSeconds.toFixed(1)} s; all at once ${Math.round(fillPerSecond)} documents/s`,
    `  in batches: ${batch.join(", ")} (p5, p50, p95) at any rate`,
    ...rates.map(
      ({ percent, perSecond, p5, p50, p95, late, loaded }) =>
        `  ${percent} % an hour, ${perSecond.toFixed(1)}/s: ${ms(p5)}, ${ms(p50)}, ${ms(p95)}; ` +
        `${(batchDelay(batchMs, 0.5) / p50).toFixed(1)} times sooner${late === 0 ? "" : `; ${late} of ${loaded} not done by the end`}`,
    ),
    `  crossover: ${crossover === undefined ? "above all of these" : `${crossover.toFixed(0)} %`}; ${wrong} clusters wrong`,
  ].join("\n");
}

function ms(value: number): string {
  return value >= 1_000 ? `${(value / 1_000).toFixed(2)} s` : `${value.toFixed(value < 10 ? 2 : 1)} ms`;
}
