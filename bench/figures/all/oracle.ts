import { barChart } from "../chart/bars.js";
import type { Drawing, Figure } from "../figure.js";
import { benchCases, benchFiguresOf, figureTable } from "./bench-results.js";

export const oracle: Figure = {
  name: "oracle",
  about: "timestamps a second from one coordinator to waiting callers in other processes",
  measurements: [benchCases("coordinator", ["oracle"], { minutes: { small: 3, full: 10 } })],
  draw(results): Drawing {
    const figures = benchFiguresOf(results, "coordinator");
    const rates = figures.filter(({ unit }) => unit === "timestamps/s");
    const title = "Timestamps a second from one coordinator";
    const svg = barChart({
      title,
      description:
        "Timestamps delivered each second over loopback to callers in one, two and four client processes, and to one process by how many a request asks for at the most. The axis is logarithmic.",
      axis: "timestamps a second",
      kind: "log",
      series: ["rate"],
      groups: rates.map(({ name, value, spread }) => ({
        name: name.replace("timestamps to ", ""),
        bars: [{ value, low: spread?.low, high: spread?.high, text: Math.round(value).toLocaleString("en") }],
      })),
    });
    return { tables: [figureTable(figures)], plots: [{ name: "oracle", alt: title, svg }] };
  },
};
