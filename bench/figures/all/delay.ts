import { barChart } from "../chart/bars.js";
import type { Drawing, Figure } from "../figure.js";
import { benchCases, benchFiguresOf, figureTable } from "./bench-results.js";

export const delay: Figure = {
  name: "delay",
  about: "from a commit to its observer's commit on an idle database",
  measurements: [benchCases("lmdb", ["delay"], { minutes: { small: 2, full: 5 } })],
  draw(results): Drawing {
    const figures = benchFiguresOf(results, "lmdb");
    const title = "From a commit to its observer's commit";
    const svg = barChart({
      title,
      description:
        "Milliseconds on an idle database, beside two flushed puts to LMDB one after the other: the least that two commits can take.",
      axis: "ms",
      series: ["median"],
      groups: figures.map(({ name, value, spread, ceiling }) => ({
        name: shown(name),
        bars: [{ value, low: spread?.low, high: spread?.high, text: `${value.toFixed(2)} ms` }],
        bound: ceiling,
      })),
      boundName: "the most that is wanted",
    });
    return { tables: [figureTable(figures)], plots: [{ name: "delay", alt: title, svg }] };
  },
};

/** A name as short as a chart wants it. */
function shown(name: string): string {
  return name
    .replace(/^.*, beyond two flushed puts$/, "beyond the two puts")
    .replace(/, one after the other$/, "");
}
