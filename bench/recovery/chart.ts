import { lineChart } from "../figures/chart/lines.js";

/** Runs committed in one interval. */
export interface Sample {
  /** Seconds since the beginning, at the interval's end. */
  readonly at: number;
  readonly rate: number;
}

export interface Mark {
  readonly at: number;
  readonly text: string;
}

/** Throughput over time, with marks at what happened. */
export function chartOf(samples: readonly Sample[], marks: readonly Mark[], title: string): string {
  return lineChart({
    title,
    description: `Runs of observers committed in each second, over time. Marked: ${marks.map(({ text }) => text).join("; ")}.`,
    across: { name: "seconds" },
    up: { name: "runs a second" },
    lines: [{ name: "runs", points: samples.map(({ at, rate }) => ({ x: at, y: rate })), plain: true }],
    events: marks.map(({ at, text }) => ({ x: at, name: text })),
    height: 360,
  });
}
