import { barChart } from "../figures/chart.js";
import type { Figure, Plot } from "../figures/figure.js";
import type { Scaled } from "../harness/processes.js";
import { range, ratio, right, short, table, verdict, whole } from "../harness/words.js";
import type { Work } from "./pipelines.js";

export interface PipelineFigure extends Work {
  /** How many pages were loaded. */
  readonly pages: number;
  readonly figures: readonly Scaled[];
}

export interface ScalingResult {
  readonly options: object;
  readonly pipelines: readonly PipelineFigure[];
}

/** Two computing processes must be this many times as fast as one, if two processors are free. */
const floor = 1.7;

const shown = {
  compute: "computing alone, no database",
  minhash: "an observer that computes",
  webindex: "the web index",
};

export function nameOf({ pipeline, functions }: Work): string {
  return functions === undefined ? shown[pipeline] : `${shown[pipeline]}: signatures of ${whole(functions)}`;
}

export const scaling: Figure = {
  name: "scaling",
  about: "pages a second of pipelines that compute, over one worker process and two (figure 9)",
  measurements: [
    {
      name: "lmdb",
      script: "scaling",
      archives: "one",
      args: {
        small: ["--pages", "300", "--functions", "2048", "--rounds", "1", "--processes", "2"],
        full: ["--rounds", "5", "--processes", "2"],
      },
      minutes: { small: 4, full: 30 },
    },
  ],
  draw(results) {
    const { pipelines = [] } = results.get<ScalingResult>("lmdb") ?? {};
    return { tables: [rateTable(pipelines)], plots: [factorPlot(pipelines)] };
  },
};

export function rateTable(pipelines: readonly PipelineFigure[]): string {
  const rows = pipelines.flatMap(({ figures, ...of }) =>
    figures.map(({ processes, perSecond, factor, cpuSeconds, rounds }) => [
      nameOf(of),
      whole(of.pages),
      whole(processes),
      short(perSecond.median),
      range(perSecond, short),
      ratio(factor.median),
      range(factor, ratio),
      of.pipeline !== "compute" && processes === 2 ? verdict(factor.median >= floor, ratio(floor)) : "",
      short(cpuSeconds.median),
      whole(rounds.reduce((sum, { wrong }) => sum + wrong.length, 0)),
    ]),
  );
  const columns = [
    "",
    right("pages"),
    right("workers"),
    right("pages/s"),
    "quartiles",
    right("divided by one worker"),
  ];
  return table([...columns, "quartiles", "floor", right("CPU seconds"), right("wrong")], rows);
}

function factorPlot(pipelines: readonly PipelineFigure[]): Plot {
  const several = pipelines.flatMap(({ figures, ...of }) =>
    figures.filter(({ processes }) => processes > 1).map((figure) => ({ name: nameOf(of), ...figure })),
  );
  const isTwo = Math.max(0, ...several.map(({ processes }) => processes)) === 2;
  const svg = barChart({
    title: `Pages a second with ${isTwo ? "two" : "several"} workers, compared with one`,
    description:
      "How many times as fast several worker processes do the same work as one, for computing alone, for an observer that computes, and for the web index.",
    axis: "times one worker",
    series: ["factor"],
    groups: several.map(({ name, processes, factor }) => ({
      name: `${name}${isTwo ? "" : `, ${processes}`}`,
      bars: [{ value: factor.median, low: factor.low, high: factor.high, text: ratio(factor.median) }],
      bound: processes,
    })),
    boundName: "each worker adds as much as the first",
  });
  return { name: "scaling", alt: "Pages a second with two workers, compared with one", svg };
}
