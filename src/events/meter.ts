/**
 * The part of OpenTelemetry's meter that this package uses. The package compiles and runs without
 * OpenTelemetry.
 */
export interface Meter {
  createHistogram(name: string, options: HistogramOptions): Histogram;
}

/** The options with which this package creates a histogram. */
export interface HistogramOptions {
  readonly description: string;
  readonly unit: string;
  readonly advice: { explicitBucketBoundaries: number[] };
}

/** The part of OpenTelemetry's histogram that this package uses. */
export interface Histogram {
  record(value: number, attributes: Record<string, string>): void;
}
