import { summarize } from "../statistics.js";

/** How a quantity went over a time. */
export interface Trend {
  /** Medians of the first fifth of the samples, of all, and of the last fifth. */
  readonly start: number;
  readonly median: number;
  readonly end: number;
  readonly most: number;
  /** The median of the slopes between all pairs of samples, a minute: single peaks do not move it. */
  readonly perMinute: number;
}

export interface At {
  readonly at: number;
  readonly value: number;
}

/** The trend of samples in the order of their seconds. */
export function trendOf(samples: readonly At[]): Trend {
  const values = samples.map(({ value }) => value);
  const fifth = Math.max(1, Math.floor(values.length / 5));
  return {
    start: summarize(values.slice(0, fifth)).median,
    median: summarize(values).median,
    end: summarize(values.slice(-fifth)).median,
    most: Math.max(...values),
    perMinute: summarize(slopesOf(samples)).median * 60,
  };
}

function slopesOf(samples: readonly At[]): number[] {
  const slopes: number[] = [];
  for (const [index, first] of samples.entries()) {
    for (const second of samples.slice(index + 1)) {
      if (second.at > first.at) slopes.push((second.value - first.value) / (second.at - first.at));
    }
  }
  return slopes;
}
