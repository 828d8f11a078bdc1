import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { BrokerageResult } from "../brokerage/figure.js";
import type { Clustered } from "../clustering/figure.js";
import type { ScalingResult } from "../scaling/figure.js";
import { figures } from "./all.js";
import { type Figure, FigureResults } from "./figure.js";
import { commandLine, madeWith } from "./measure.js";
import { blocksOf, drawBlocks } from "./page.js";
import { drawFigure, merged, noResults, type Results, readableOf, readResults } from "./results.js";
import { samples } from "./testing/samples.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = join(root, "docs/figures/performance");
const results = readResults(join(folder, "results.json"));

/** The results that the measurements of a figure wrote. Those of its sample if it was not measured yet. */
const resultsOf = (name: string): Readonly<Record<string, unknown>> => {
  const measured = Object.entries(results.figures[name] ?? {});
  if (measured.length === 0) return samples[name]!;
  return Object.fromEntries(measured.map(([measurement, { result }]) => [measurement, result]));
};
const draw = (figure: Figure, of: Readonly<Record<string, unknown>>) => figure.draw(new FigureResults(of));

test("every measurement is a script of package.json, and plot names are unique", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const named = figures.flatMap(({ measurements }) => measurements.map(({ script }) => script));
  expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
  const plots = figures.flatMap((figure) =>
    draw(figure, resultsOf(figure.name)).plots.map(({ name }) => name),
  );
  expect(plots).toEqual([...new Set(plots)]);
});

describe.each(figures.map((figure) => ({ name: figure.name, figure })))("the figure $name", ({ figure }) => {
  test("draws tables and plots from the results of its measurements", () => {
    expect(Object.keys(resultsOf(figure.name))).toEqual(figure.measurements.map(({ name }) => name));
    const { tables, plots } = draw(figure, resultsOf(figure.name));
    expect(plots.length).toBeGreaterThan(0);
    expect(tables.length).toBeGreaterThan(0);
    for (const text of [...tables, ...plots.map(({ svg }) => svg)])
      expect(text).not.toMatch(/NaN|undefined|Infinity|\[object/);
    for (const { svg } of plots) expect(svg).toMatch(/<title id="title">.+<\/title>/);
  });

  test("draws what is available if a measurement is missing", () => {
    for (const [name, result] of Object.entries(resultsOf(figure.name)))
      expect(draw(figure, { [name]: result }).tables.join("\n")).not.toMatch(/NaN|undefined|Infinity/);
  });

  test("is empty if there are no results", () => {
    expect(drawFigure(figure, noResults)).toEqual({ tables: [], plots: [] });
  });
});

describe("a missed floor", () => {
  const tablesOf = (name: string, of: Readonly<Record<string, unknown>>) =>
    draw(figures.find((figure) => figure.name === name)!, of).tables.join("\n");

  test("is reported for two workers", () => {
    const { options, pipelines } = resultsOf("scaling").lmdb as ScalingResult;
    const pipeline = pipelines.find((each) => each.pipeline === "minhash")!;
    const [one, two] = pipeline.figures;
    const withFactor = (median: number) => ({
      lmdb: {
        options,
        pipelines: [{ ...pipeline, figures: [one, { ...two, factor: { ...two!.factor, median } }] }],
      },
    });
    expect(tablesOf("scaling", withFactor(1.7))).toContain("1.70: met");
    expect(tablesOf("scaling", withFactor(1.69))).toContain("1.70: **missed**");
  });

  test("is reported for the crossover, and for a million documents at one percent an hour", () => {
    const million = (resultsOf("clustering").lmdb as readonly Clustered[]).find(
      ({ documents }) => documents === 1_000_000,
    )!;
    const withBatch = (crossover: number, batchMs: number) => ({
      lmdb: [{ ...million, batches: [{ ...million.batches[0]!, crossover, batchMs }] }],
    });
    expect(tablesOf("clustering", withBatch(41, 20_000))).toContain("above 40 %: met");
    expect(tablesOf("clustering", withBatch(41, 20_000))).toContain("1,000 times: met");
    expect(tablesOf("clustering", withBatch(39, 20))).toContain("above 40 %: **missed**");
    expect(tablesOf("clustering", withBatch(39, 20))).toContain("1,000 times: **missed**");
    const [batch] = million.batches;
    const rates = batch!.rates.map((rate) => ({ ...rate, late: rate.percent > 20 ? rate.loaded / 2 : 0 }));
    const growing = { lmdb: [{ ...million, batches: [{ ...batch!, rates }] }] };
    expect(tablesOf("clustering", growing)).toContain("| 20 % | 40 %: **missed** |");
    const kept = rates.map((rate) => ({ ...rate, late: 0 }));
    const keeping = { lmdb: [{ ...million, batches: [{ ...batch!, rates: kept }] }] };
    expect(tablesOf("clustering", keeping)).toContain("| 100 % | 40 %: met |");
  });

  test("is reported by today's floors, also for results that have those of their time", () => {
    const drawn = tablesOf("overhead", resultsOf("overhead"));
    expect(drawn).toMatch(/\| reads, 100 bytes \|.*\| 0\.75: /);
    expect(drawn).toMatch(/\| getMany of 100, 100 bytes \|.*\| 0\.80: /);
    expect(drawn).toMatch(/\| transactions of one cell, 1,000 in flight, flushed \|.*\| 0\.75: /);
    expect(drawn).toMatch(/\| transactions of 10 cells, 1,000 in flight, flushed \|.*\| 0\.60: /);
    expect(drawn).toMatch(/\| cells a second \|.*\| at least 46,000: /);
  });

  test("is reported for the import of the package and for the help", () => {
    const drawn = tablesOf("import", samples.import!);
    expect(drawn).toMatch(/\| import\("percolatordb"\), .*\| 40\.0: met \|/);
    expect(drawn).toMatch(/\| percolator --help, .*\| 150: \*\*missed\*\* \|/);
  });

  test("is reported for two processes that trade on a folder", () => {
    const { options, figures: found } = resultsOf("brokerage").lmdb as BrokerageResult;
    const [one, two] = found;
    const withFactor = (median: number) => ({
      lmdb: { options, figures: [one, { ...two, factor: { ...two!.factor, median } }] },
    });
    expect(tablesOf("brokerage", withFactor(1.7))).toContain("1.70: met");
    expect(tablesOf("brokerage", withFactor(1.69))).toContain("1.70: **missed**");
  });
});

describe("results", () => {
  const delay = results.figures.delay!.lmdb!;
  const of = (figure: string, measurement: string, result: unknown): Results => ({
    figures: { [figure]: { [measurement]: { ...delay, result } } },
  });

  test("that cannot be drawn any more are left out, and the others stay", () => {
    const mixed = [
      of("delay", "lmdb", delay.result),
      of("memory", "lmdb", { other: "shape" }),
      of("peer", "postgres", { pages: 1 }),
      of("no figure", "lmdb", {}),
    ].reduce(merged);
    const { readable, dropped } = readableOf(figures, mixed);
    expect(Object.keys(readable.figures)).toEqual(["delay"]);
    expect(dropped).toEqual(["memory", "peer", "no figure"]);
  });

  test("that are newer replace older ones, and results that were not measured again stay", () => {
    const before = [of("first", "lmdb", "old"), of("first", "bigtable", "kept")].reduce(merged);
    const { figures: found } = merged(before, of("first", "lmdb", "new"));
    expect(found.first).toMatchObject({ lmdb: { result: "new" }, bigtable: { result: "kept" } });
  });

  test("keep how long all measurements took, by size", () => {
    const run = (seconds: number) => ({
      date: delay.date,
      seconds,
      revision: undefined,
      machine: delay.machine,
      archives: 0,
    });
    const before: Results = { figures: {}, runs: { small: run(1), full: run(2) } };
    const { runs } = merged(before, { figures: {}, runs: { small: run(3) } });
    expect(runs).toEqual({ small: run(3), full: run(2) });
    expect(merged(before, noResults).runs).toEqual(before.runs);
    expect(readableOf(figures, before).readable.runs).toEqual(before.runs);
  });

  test("contain no folder of the machine that measured them", () => {
    expect(readFileSync(join(folder, "results.json"), "utf8")).not.toMatch(/"(\/|[A-Za-z]:\\\\)[^"]/);
  });
});

describe("docs/performance.md", () => {
  const page = readFileSync(join(root, "docs/performance.md"), "utf8");
  const expected = drawBlocks(figures, results, "figures/performance");

  test("has a place for every figure, in order, and no other places", () => {
    expect([...blocksOf(page).keys()]).toEqual([...expected.keys()]);
  });

  test.each([...expected])("shows the results of %s (`npm run figures -- --from` draws it)", (name, text) => {
    expect(blocksOf(page).get(name)?.trim()).toBe(text);
  });

  test("has exactly the plots that the results draw", () => {
    const plots = figures.flatMap((figure) => drawFigure(figure, results).plots);
    const files = readdirSync(folder).filter((name) => name.endsWith(".svg"));
    expect(files.sort()).toEqual(plots.map(({ name }) => `${name}.svg`).sort());
    for (const { name, svg } of plots) expect(readFileSync(join(folder, `${name}.svg`), "utf8")).toBe(svg);
  });
});

describe("docs/scale.md", () => {
  const scale = readFileSync(join(root, "docs/scale.md"), "utf8");
  const drawn = drawBlocks(figures, results, "figures/performance");
  const rowsOf = (figure: string, line: RegExp) =>
    drawn
      .get(figure)!
      .split("\n")
      .filter((each) => line.test(each))
      .map((each) =>
        each
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );

  test("has the brokerage's requests and rates on the emulator", () => {
    // The rows of both tables of requests: those to PostgreSQL come first.
    const requests = rowsOf("brokerage", /^\| \d /)
      .slice(-2)
      .map((cells) => cells.at(-1));
    expect(scale).toContain(`| ${requests.join(" and ")} |`);
    const two = rowsOf("brokerage", /^\| Bigtable's emulator \| 2 /)[0]![4];
    expect(scale).toContain(`two processes together are ${two} times as fast as one process`);
  });

  test("has the requests of a page of the web index", () => {
    const [, , before, , sent] = rowsOf("documents", /^\| first crawl \| \d+ \|/)[0]!;
    expect(scale).toContain(`| ${before} and ${sent} |`);
  });
});

describe("a measurement", () => {
  const measurement = {
    name: "lmdb",
    script: "recrawl",
    args: { small: ["--changes", "1"], full: [] },
    minutes: { small: 1, full: 2 },
  };
  const archives = ["/here/a.warc.gz", "/here/b.warc.gz"];

  test("runs if there are enough web archives", () => {
    const ofArchives = { ...measurement, name: "archives", archives: "all" as const, minArchives: 2 };
    const made = (count: number) =>
      madeWith([measurement, ofArchives], archives.slice(0, count)).map(({ name }) => name);
    expect([0, 1, 2].map(made)).toEqual([["lmdb"], ["lmdb"], ["lmdb", "archives"]]);
  });

  test("has the command line that a reader would type, with the names of its archives without folders", () => {
    expect(commandLine(measurement, "small", [])).toBe("npm run recrawl -- --changes 1");
    expect(commandLine(measurement, "full", archives)).toBe("npm run recrawl");
    const line = (taken: "one" | "all") => commandLine({ ...measurement, archives: taken }, "full", archives);
    expect(line("one")).toBe("npm run recrawl -- a.warc.gz");
    expect(line("all")).toBe("npm run recrawl -- a.warc.gz b.warc.gz");
  });
});
