import { barChart } from "../chart/bars.js";
import type { Drawing, Figure } from "../figure.js";
import { ratio, right, short, table, verdict } from "../words.js";
import { type BenchFigure, benchCases, benchFiguresOf } from "./bench-results.js";

/** The names that `bench/cases/wire.ts` gives to its sums. */
const ways = [
  { what: "all, before", name: "each by itself" },
  { what: "all, fetched ahead and joined", name: "fetched ahead and joined" },
  { what: "all, gathered by the store too", name: "gathered by the store too" },
];

export const documents: Figure = {
  name: "documents",
  about: "requests to a distant store for each document of the web index, with and without gathering",
  measurements: [benchCases("wire", ["wire"], { minutes: { small: 4, full: 20 } })],
  draw(results): Drawing {
    const figures = benchFiguresOf(results, "wire");
    const crawls = [...new Set(figures.flatMap(({ name }) => /^(.*), documents$/.exec(name)?.[1] ?? []))];
    const value = (name: string) => figures.find((figure) => figure.name === name)?.value ?? Number.NaN;
    const title = "Requests to a distant store for each document";
    const svg = barChart({
      title,
      description:
        "Requests that the web index sends for each document that was loaded: each thing of the protocol as a request of its own, with columns fetched ahead and mutations of a row joined, and with what comes at a time gathered by the store.",
      axis: "requests a document",
      series: ways.map(({ name }) => name),
      groups: crawls.map((crawl) => ({
        name: crawl,
        bars: ways.map(({ what }) => ({
          value: value(`${crawl}, ${what}`),
          text: short(value(`${crawl}, ${what}`)),
        })),
      })),
    });
    return {
      tables: [sums(figures, crawls), kinds(figures, crawls)],
      plots: [{ name: "documents", alt: title, svg }],
    };
  },
};

function sums(figures: readonly BenchFigure[], crawls: readonly string[]): string {
  const find = (name: string) => figures.find((figure) => figure.name === name);
  const rows = crawls.map((crawl) => {
    const share = find(`${crawl}, share that is sent`);
    const count = find(`${crawl}, documents`)?.value ?? 0;
    return [
      crawl,
      count.toLocaleString("en"),
      ...ways.map(({ what }) => short(find(`${crawl}, ${what}`)?.value ?? Number.NaN)),
      share === undefined ? "" : ratio(share.value),
      share?.ceiling === undefined ? "" : verdict(share.value <= share.ceiling, ratio(share.ceiling)),
    ];
  });
  return table(
    ["", right("documents"), ...ways.map(({ name }) => right(name)), right("share sent"), "at most"],
    rows,
  );
}

/** By kind, each before and as sent. */
function kinds(figures: readonly BenchFigure[], crawls: readonly string[]): string {
  const names = [...new Set(figures.flatMap(({ name }) => /, (.*) before$/.exec(name)?.[1] ?? []))].filter(
    (name) => name !== "all,",
  );
  const value = (name: string) => short(figures.find((figure) => figure.name === name)?.value ?? Number.NaN);
  const rows = crawls.map((crawl) => [
    crawl,
    ...names.map((name) => `${value(`${crawl}, ${name} before`)} → ${value(`${crawl}, ${name} sent`)}`),
  ]);
  return `Requests a document by kind, before and as sent:\n\n${table(["", ...names.map(right)], rows)}`;
}
