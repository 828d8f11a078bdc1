import { z } from "zod";
import type { FigureResults, Measurement } from "../figure.js";
import { type Column, range, ratio, right, short, table, verdict, whole } from "../words.js";

const spread = z.object({ median: z.number(), low: z.number(), high: z.number() });

const comparisonSchema = z.object({
  name: z.string(),
  unit: z.string(),
  floor: z.number().optional(),
  raw: spread,
  ours: spread,
  ratio: spread,
});

const figureSchema = z.object({
  name: z.string(),
  value: z.number(),
  unit: z.string(),
  spread: spread.optional(),
  ceiling: z.number().optional(),
});

const caseSchema = z.object({ comparisons: z.array(comparisonSchema), figures: z.array(figureSchema) });

/** What `npm run bench` writes, of the cases that were asked for. */
const benchSchema = z.object({ cases: z.record(z.string(), caseSchema) });

export type Comparison = z.output<typeof comparisonSchema>;
export type BenchFigure = z.output<typeof figureSchema>;

/** The comparisons of all cases of a measurement; none where it was not made. */
export function comparisonsOf(results: FigureResults, measurement: string): readonly Comparison[] {
  const found = results.get(measurement, benchSchema);
  return Object.values(found?.cases ?? {}).flatMap(({ comparisons }) => comparisons);
}

/** The figures of all cases of a measurement. */
export function benchFiguresOf(results: FigureResults, measurement: string): readonly BenchFigure[] {
  const found = results.get(measurement, benchSchema);
  return Object.values(found?.cases ?? {}).flatMap(({ figures }) => figures);
}

/** Cases of `npm run bench`, `--quick` at small size. */
export function benchCases(
  name: string,
  cases: readonly string[],
  {
    small = [],
    full = [],
    minutes,
  }: {
    readonly small?: readonly string[];
    readonly full?: readonly string[];
    readonly minutes: Measurement["minutes"];
  },
): Measurement {
  const only = cases.flatMap((each) => ["--only", each]);
  return {
    name,
    script: "bench",
    args: { small: ["--quick", ...only, ...small], full: [...only, ...full] },
    minutes,
  };
}

const comparisonColumns: readonly Column[] = [
  "",
  right("raw, a second"),
  right("percolatordb, a second"),
  right("ratio"),
  "quartiles",
  "floor",
];

export function comparisonTable(comparisons: readonly Comparison[]): string {
  return table(
    comparisonColumns,
    comparisons.map(({ name, raw, ours, ratio: of, floor }) => [
      name,
      whole(raw.median),
      whole(ours.median),
      ratio(of.median),
      range(of, ratio),
      floor === undefined ? "" : verdict(of.median >= floor, ratio(floor)),
    ]),
  );
}

export function figureTable(figures: readonly BenchFigure[]): string {
  return table(
    ["", right("median"), "", "quartiles", "at most"],
    figures.map(({ name, value, unit, spread: of, ceiling }) => [
      name,
      short(value),
      unit,
      of === undefined ? "" : range(of, short),
      ceiling === undefined ? "" : verdict(value <= ceiling, short(ceiling)),
    ]),
  );
}
