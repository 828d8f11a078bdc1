import { z } from "zod";
import { barChart } from "../chart/bars.js";
import type { Drawing, Figure, Plot } from "../figure.js";
import { range, ratio, right, short, table, verdict, whole } from "../words.js";

const spread = z.object({ median: z.number(), low: z.number(), high: z.number() });

const schema = z.object({
  pipelines: z.array(
    z.object({
      pipeline: z.string(),
      functions: z.number().optional(),
      pages: z.number(),
      figures: z.array(
        z.object({
          workers: z.number(),
          pagesPerSecond: spread,
          factor: spread,
          cpuSeconds: spread.optional(),
          rounds: z.array(z.object({ wrong: z.array(z.string()) })),
        }),
      ),
    }),
  ),
});

type Pipeline = z.output<typeof schema>["pipelines"][number];
type Work = Pick<Pipeline, "pipeline" | "functions">;

/** Of pipelines that compute, with two workers, where two processors are free. */
const floor = 1.7;

/** What the pipelines are, in the page's words. */
const shown: Readonly<Record<string, string>> = {
  compute: "computing alone, no database",
  minhash: "an observer that computes",
  webindex: "the web index",
};

function nameOf({ pipeline, functions }: Work): string {
  const name = shown[pipeline] ?? pipeline;
  return functions === undefined ? name : `${name}: signatures of ${whole(functions)}`;
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
        small: ["--pages", "300", "--rounds", "1", "--processes", "2"],
        full: ["--rounds", "5", "--processes", "2"],
      },
      minutes: { small: 4, full: 30 },
    },
  ],
  draw(results): Drawing {
    const pipelines = results.get("lmdb", schema)?.pipelines ?? [];
    return { tables: [rates(pipelines)], plots: [factors(pipelines)] };
  },
};

function rates(pipelines: readonly Pipeline[]): string {
  const rows = pipelines.flatMap(({ pipeline, functions, pages, figures }) =>
    figures.map(({ workers, pagesPerSecond, factor, cpuSeconds, rounds }) => [
      nameOf({ pipeline, functions }),
      whole(pages),
      whole(workers),
      short(pagesPerSecond.median),
      range(pagesPerSecond, short),
      ratio(factor.median),
      range(factor, ratio),
      pipeline !== "compute" && workers === 2 ? verdict(factor.median >= floor, ratio(floor)) : "",
      cpuSeconds === undefined ? "" : short(cpuSeconds.median),
      whole(rounds.reduce((sum, { wrong }) => sum + wrong.length, 0)),
    ]),
  );
  const columns = [
    "",
    right("pages"),
    right("workers"),
    right("pages/s"),
    "quartiles",
    right("times one"),
    "quartiles",
    "floor",
  ];
  return table([...columns, right("CPU seconds"), right("wrong")], rows);
}

function factors(pipelines: readonly Pipeline[]): Plot {
  const title = "Pages a second with two workers, by those with one";
  const several = pipelines.flatMap(({ figures, ...work }) =>
    figures.filter(({ workers }) => workers > 1).map((figure) => ({ name: nameOf(work), ...figure })),
  );
  const most = Math.max(0, ...several.map(({ workers }) => workers));
  const svg = barChart({
    title: most === 2 ? title : "Pages a second with several workers, by those with one",
    description:
      "How many times as fast several worker processes do the same work as one, for computing alone, for an observer that computes, and for the web index.",
    axis: "times one worker",
    series: ["factor"],
    groups: several.map(({ name, workers, factor }) => ({
      name: `${name}${most === 2 ? "" : `, ${workers}`}`,
      bars: [{ value: factor.median, low: factor.low, high: factor.high, text: ratio(factor.median) }],
      bound: workers,
    })),
    boundName: "each worker adds as much as the first",
  });
  return { name: "scaling", alt: title, svg };
}
