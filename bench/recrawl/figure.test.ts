import { expect, test } from "vitest";
import {
  costBesideLoad,
  costOfChanged,
  describeRecrawl,
  type IndexCost,
  type Recrawl,
  type RecrawlResult,
  shareChanged,
  wrongOf,
} from "./figure.js";

const cost: IndexCost = {
  seconds: 2,
  cpuSeconds: 1,
  added: 1,
  changed: 2,
  unchanged: 7,
  deleted: 2,
  runs: 10,
  commits: 12,
  cells: 30,
  wrong: 0,
  problems: [],
};
const recrawl: Recrawl = {
  name: "second",
  pages: 8,
  update: cost,
  insert: { ...cost, cpuSeconds: 1.25 },
  load: { ...cost, seconds: 8, cpuSeconds: 2 },
  rebuild: { seconds: 1, cpuSeconds: 4 },
};
const first = { name: "first", pages: 9, load: cost };

test("the changed share includes pages that are gone", () => {
  expect(shareChanged(recrawl)).toBe(0.5);
  expect(shareChanged({ ...recrawl, pages: 0, update: { ...cost, added: 0, changed: 0, deleted: 0 } })).toBe(
    0,
  );
});

test("the update is shown with the load and the rebuild", () => {
  const text = describeRecrawl({ first, crawls: [recrawl] }).join("\n");
  expect(text).toContain("| 50 % | 2.00 (1.00) | 8.00 (2.00) | 1.00 (4.00) | 0.25 | 2.00 | 0 |");
});

test("changed pages are compared with as many new ones by processor time", () => {
  expect(costOfChanged(recrawl)).toBeCloseTo(0.8);
  // 0.2 s for each of 5 changed pages, and 0.25 s for each of 8 loaded ones.
  expect(costBesideLoad({ ...recrawl, insert: { ...cost, cpuSeconds: 9 } })).toBeCloseTo(0.8);
  expect(describeRecrawl({ first, crawls: [recrawl] }).join("\n")).toContain(
    "| 0.80 | at most 1: met | 0.80 |",
  );
  const dear = { ...recrawl, update: { ...cost, cpuSeconds: 1.5 } };
  const text = describeRecrawl({ first, crawls: [dear] }).join("\n");
  expect(text).toContain("| 1.20 | at most 1: **missed** | 1.20 |");
});

test("errors in any result are counted and shown", () => {
  const bad = { ...cost, wrong: 3, problems: ["a cell differs"] };
  const result = (crawls: RecrawlResult["crawls"], load = cost) => ({ first: { ...first, load }, crawls });
  expect(wrongOf(result([recrawl]))).toBe(0);
  expect(wrongOf(result([{ ...recrawl, update: bad }]))).toBe(3);
  expect(wrongOf(result([{ ...recrawl, insert: bad }]))).toBe(3);
  expect(wrongOf(result([{ ...recrawl, load: bad }], bad))).toBe(6);
  expect(describeRecrawl(result([{ ...recrawl, update: bad }]))).toContain("a cell differs");
});
