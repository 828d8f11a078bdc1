/** How documents fared that came at a rate. */
export interface RateFigure {
  /** Of the repository, in an hour. */
  readonly percent: number;
  readonly perSecond: number;
  readonly loaded: number;
  /** Not clustered when the last one had been loaded. */
  readonly late: number;
  /** Milliseconds from when a document was due to be loaded to the commit of its clustering. */
  readonly p5: number;
  readonly p50: number;
  readonly p95: number;
}

/** Where the batch reads the documents, and writes the clusters. */
export type BatchPlace = "same database" | "bare LMDB";

/** A batch over all documents, and the crawls whose hour is three times as long. */
export interface BatchFigure {
  readonly place: BatchPlace;
  /** Milliseconds of one batch: the median, and each. */
  readonly batchMs: number;
  readonly batchRunsMs: readonly number[];
  readonly hourSeconds: number;
  readonly rates: readonly RateFigure[];
  /** Percent an hour at which a document waits as long as it would for the batch; undefined where it never did. */
  readonly crossover: number | undefined;
}

export interface Measured {
  readonly documents: number;
  /** Documents a second when all came at once: loaded 200 a transaction, clustered each by a run of its own. */
  readonly fillPerSecond: number;
  /** What LMDB itself allows: documents a second that are clustered anew by its gets and flushed puts alone. */
  readonly barePerSecond: number;
  readonly batches: readonly BatchFigure[];
  /** Documents that were not as they were loaded last, and clusters that were not what the batch makes of these, in the end. */
  readonly wrong: number;
}

/** Whether no repository came out wrong: what decides the exit code. */
export function isRight(measured: readonly Measured[]): boolean {
  return measured.every(({ wrong }) => wrong === 0);
}

/** A document comes at any time while a batch runs, and waits for its end and for the whole of the next. */
export const batchDelay = (batchMs: number, part: number): number => batchMs * (1 + part);

/** Where the medians cross, on a line between the two rates beside it. */
export function crossoverOf({ rates, batchMs }: Pick<BatchFigure, "rates" | "batchMs">): number | undefined {
  const batch = batchDelay(batchMs, 0.5);
  const above = rates.findIndex(({ p50 }) => p50 > batch);
  if (above < 0) return undefined;
  const [low, high] = [rates[above - 1], rates[above]!];
  if (low === undefined) return high.percent;
  return low.percent + ((batch - low.p50) / (high.p50 - low.p50)) * (high.percent - low.percent);
}

export function describeMeasured({
  documents,
  fillPerSecond,
  barePerSecond,
  batches,
  wrong,
}: Measured): string {
  return [
    `${documents.toLocaleString("en")} documents, all at once: ${Math.round(fillPerSecond)}/s (by LMDB alone ${Math.round(barePerSecond)}/s); ${wrong} documents and clusters wrong`,
    ...batches.flatMap(describeBatch),
  ].join("\n");
}

function describeBatch({ place, batchMs, hourSeconds, rates, crossover }: BatchFigure): readonly string[] {
  const batch = [0.05, 0.5, 0.95].map((part) => ms(batchDelay(batchMs, part)));
  return [
    `  beside a batch in ${place === "bare LMDB" ? "an LMDB of its own" : "the same database"}: ${ms(batchMs)}, an hour ${hourSeconds.toFixed(1)} s; ` +
      `a document waits ${batch.join(", ")} (p5, p50, p95) for it`,
    ...rates.map(
      ({ percent, perSecond, p5, p50, p95, late, loaded }) =>
        `    ${percent} % an hour, ${perSecond.toFixed(1)}/s: ${ms(p5)}, ${ms(p50)}, ${ms(p95)}; ` +
        `${(batchDelay(batchMs, 0.5) / p50).toFixed(1)} times sooner; ${late} of ${loaded} clustered after the last was loaded`,
    ),
    `    crossover: ${crossover === undefined ? "above all of these" : `${crossover.toFixed(0)} %`}`,
  ];
}

function ms(value: number): string {
  return value >= 1_000 ? `${(value / 1_000).toFixed(2)} s` : `${value.toFixed(value < 10 ? 2 : 1)} ms`;
}
