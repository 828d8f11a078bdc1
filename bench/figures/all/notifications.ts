import { lineChart } from "../chart/lines.js";
import { timeText } from "../chart/numbers.js";
import type { Drawing, Figure } from "../figure.js";
import { type BenchFigure, benchCases, benchFiguresOf, figureTable } from "./bench-results.js";

export const notifications: Figure = {
  name: "notifications",
  about: "to find 10 dirty cells among 10 thousand, 1 million and 10 million",
  measurements: [
    {
      // Not `--quick`: the size is what this is about.
      ...benchCases("lmdb", ["notifications"], {
        full: ["--cells", "10000000"],
        minutes: { small: 6, full: 60 },
      }),
      args: {
        small: ["--only", "notifications"],
        full: ["--only", "notifications", "--cells", "10000000"],
      },
    },
  ],
  draw(results): Drawing {
    const figures = benchFiguresOf(results, "lmdb");
    const title = "Ten dirty cells found and handled, by the cells there are";
    const svg = lineChart({
      title,
      description:
        "Milliseconds that a worker takes to find ten changed cells and to handle them, against the number of cells that are observed; beside it the time to look at every cell. Both axes are logarithmic.",
      across: { name: "observed cells", kind: "log" },
      up: { name: "time", kind: "log", show: timeText },
      lines: [
        { name: "found and handled", points: pointsOf(figures, "found and handled") },
        { name: "every cell looked at", points: pointsOf(figures, "looked at"), series: 1 },
      ],
    });
    return { tables: [figureTable(figures)], plots: [{ name: "notifications", alt: title, svg }] };
  },
};

function pointsOf(figures: readonly BenchFigure[], what: string) {
  return figures.flatMap(({ name, value, spread }) => {
    const among = /among ([\d,]+)$/.exec(name)?.[1];
    if (!name.includes(what) || among === undefined) return [];
    return [{ x: Number(among.replaceAll(",", "")), y: value, low: spread?.low, high: spread?.high }];
  });
}
