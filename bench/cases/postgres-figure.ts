import { type BarGroup, barChart } from "../figures/chart.js";
import type { Drawing, Figure } from "../figures/figure.js";
import { whole } from "../harness/words.js";
import {
  benchCases,
  comparisonsOf,
  comparisonTable,
  configurationsOf,
  figuresOf,
  figureTable,
} from "./figures.js";
import { postgresTables } from "./floors.js";

/** The figure "PostgreSQL as the store". */
export const postgresStore: Figure = {
  name: "postgres-store",
  about: "transactions, gathered reads and scans on PostgreSQL, beside the same server used directly",
  measurements: [benchCases("postgres", ["postgres"], { small: 2, full: 10 })],
  draw(results): Drawing {
    const comparisons = comparisonsOf(results, "postgres");
    const figures = figuresOf(results, "postgres");
    if (comparisons.length === 0) return { tables: [], plots: [] };
    const alt = "Rates on PostgreSQL";
    const svg = barChart({
      title: alt,
      description:
        "Transactions, reads and scanned entries a second on PostgreSQL through percolatordb, compared with the same server used directly, in the same run. The axis is logarithmic.",
      axis: "a second",
      kind: "log",
      series: ["percolatordb", "plain pg"],
      groups: comparisons.map(
        ({ name, ours, raw }): BarGroup => ({
          name: name.replace(" on PostgreSQL", ""),
          bars: [ours, raw].map(({ median, low, high }) => ({
            value: median,
            low,
            high,
            text: whole(median),
          })),
        }),
      ),
    });
    return {
      tables: [
        ...configurationsOf(results, "postgres").map((each) => `The server: ${each}.`),
        comparisonTable(comparisons),
        ...postgresTables(comparisons),
        ...(figures.length === 0 ? [] : [figureTable(figures)]),
      ],
      plots: [{ name: "postgres-store", alt, svg }],
    };
  },
};
