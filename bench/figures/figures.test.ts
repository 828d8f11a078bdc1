import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { figures } from "./all/index.js";
import { drawFigure, readableOf } from "./draw.js";
import { type Figure, FigureResults, UnreadableResultError } from "./figure.js";
import { blocksOf } from "./page.js";
import { blocksOf as expectedBlocks } from "./publish.js";
import { noResults, parseResults } from "./results.js";
import { samples } from "./testing/samples.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = join(root, "docs/figures/performance");
const draw = (figure: Figure, results: Readonly<Record<string, unknown>>) =>
  figure.draw(new FigureResults(figure.name, results));

test("every figure has a sample, with all of its measurements", () => {
  const wanted = figures.map(({ name, measurements }) => [name, measurements.map((each) => each.name)]);
  const found = figures.map(({ name }) => [name, Object.keys(samples[name] ?? {})]);
  expect(found).toEqual(wanted);
});

test("every measurement is a script of package.json, and no two plots have a name", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const named = figures.flatMap(({ measurements }) => measurements.map(({ script }) => script));
  expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
  const plots = figures.flatMap((figure) =>
    draw(figure, samples[figure.name]!).plots.map(({ name }) => name),
  );
  expect(plots).toEqual([...new Set(plots)]);
});

describe.each(figures.map((figure) => ({ name: figure.name, figure })))("the figure $name", ({ figure }) => {
  const sample = samples[figure.name]!;

  test("draws tables and plots from what its measurements write", () => {
    const { tables, plots } = draw(figure, sample);
    expect(plots.length).toBeGreaterThan(0);
    expect(tables.length).toBeGreaterThan(0);
    for (const text of [...tables, ...plots.map(({ svg }) => svg)])
      expect(text).not.toMatch(/NaN|undefined|Infinity|\[object/);
    for (const { svg } of plots) expect(svg).toMatch(/<title id="title">.+<\/title>/);
  });

  test("draws what is there where a measurement was not made", () => {
    for (const [name, result] of Object.entries(sample)) {
      const { tables } = draw(figure, { [name]: result });
      expect(tables.join("\n")).not.toMatch(/NaN|undefined|Infinity/);
    }
  });

  test("refuses what it cannot read", () => {
    for (const name of Object.keys(sample))
      expect(() => draw(figure, { ...sample, [name]: { cases: 5 } })).toThrow(UnreadableResultError);
  });

  test("is nothing where nothing was measured", () => {
    expect(drawFigure(figure, noResults)).toEqual({ tables: [], plots: [] });
  });
});

describe("a floor that is not reached", () => {
  const tablesOf = (name: string, results: Readonly<Record<string, unknown>>) =>
    draw(figures.find((figure) => figure.name === name)!, results).tables.join("\n");

  test("is said of two workers", () => {
    const slow = structuredClone(samples.scaling!.lmdb) as {
      pipelines: { figures: { workers: number; factor: { median: number } }[] }[];
    };
    expect(tablesOf("scaling", { lmdb: slow })).toContain("1.70: met");
    slow.pipelines[0]!.figures[1]!.factor.median = 1.69;
    expect(tablesOf("scaling", { lmdb: slow })).toContain("1.70: **missed**");
  });

  test("is said of the crossover, and of a million documents at one percent an hour", () => {
    const [repository] = structuredClone(samples.clustering!.lmdb) as [
      { documents: number; batches: { batchMs: number; crossover?: number; rates: { percent: number }[] }[] },
    ];
    repository.documents = 1_000_000;
    repository.batches = repository.batches.slice(0, 1);
    const [batch] = repository.batches as [(typeof repository.batches)[number]];
    batch.rates[0]!.percent = 1;
    expect(tablesOf("clustering", { lmdb: [repository] })).toContain("above 40 %: met");
    expect(tablesOf("clustering", { lmdb: [repository] })).toContain("1,000 times: **missed**");
    batch.crossover = 39;
    batch.batchMs = 2_000;
    expect(tablesOf("clustering", { lmdb: [repository] })).toContain("above 40 %: **missed**");
    expect(tablesOf("clustering", { lmdb: [repository] })).toContain("1,000 times: met");
  });
});

test("results that cannot be read any more are left out, and the others stay", () => {
  const spread = { median: 1, low: 1, high: 1, count: 1 };
  const versions = { percolatordb: "", node: "", lmdb: "", cpu: "", kernel: "" };
  const machine = { ...versions, cores: 1, memoryGiB: 1, flushMs: spread };
  const measured = (result: unknown) => ({
    command: "",
    size: "small" as const,
    date: "",
    seconds: 1,
    machine,
    result,
  });
  const results = {
    figures: {
      delay: { lmdb: measured(samples.delay!.lmdb) },
      memory: { lmdb: measured({ other: "shape" }) },
      "no figure": { lmdb: measured({}) },
    },
  };
  const { readable, dropped } = readableOf(figures, results);
  expect(Object.keys(readable.figures)).toEqual(["delay"]);
  expect(dropped).toEqual(["memory", "no figure"]);
});

test("no result names a folder of the machine that measured it", () => {
  expect(readFileSync(join(folder, "results.json"), "utf8")).not.toMatch(/"(\/|[A-Za-z]:\\\\)[^"]/);
});

describe("docs/performance.md", () => {
  const page = readFileSync(join(root, "docs/performance.md"), "utf8");
  const results = parseResults(join(folder, "results.json"));
  const expected = expectedBlocks(figures, results, "figures/performance");

  test("has a place for every figure, and no other, in their order", () => {
    expect(blocksOf(page).map(({ name }) => name)).toEqual([...expected.keys()]);
  });

  test.each([...expected])(
    "shows what the results say of %s (`npm run figures -- --from` draws it anew)",
    (name, text) => {
      const shown = blocksOf(page).find((block) => block.name === name);
      expect(shown?.text.trim()).toBe(text);
    },
  );

  test("has the plots that the results draw, and no other", () => {
    const plots = figures.flatMap((figure) => drawFigure(figure, results).plots);
    const files = readdirSync(folder).filter((name) => name.endsWith(".svg"));
    expect(files.sort()).toEqual(plots.map(({ name }) => `${name}.svg`).sort());
    for (const { name, svg } of plots) expect(readFileSync(join(folder, `${name}.svg`), "utf8")).toBe(svg);
  });
});
