import { expect, test } from "vitest";
import {
  describeRecrawl,
  type IndexCost,
  type Recrawl,
  type RecrawlReport,
  shareChanged,
  wrongOf,
} from "./report.js";

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
  load: { ...cost, seconds: 8, cpuSeconds: 2 },
  rebuild: { seconds: 1, cpuSeconds: 4 },
};
const first = { name: "first", pages: 9, load: cost };
const configuration = { date: "", node: "", system: "", cpu: "", cpus: 2, memoryGiB: 8 };

test("the share that changed counts pages that are gone", () => {
  expect(shareChanged(recrawl)).toBe(0.5);
  const nothing = { pages: 0, update: { ...cost, added: 0, changed: 0, deleted: 0 } };
  expect(shareChanged(nothing)).toBe(0);
});

test("the update is told beside the load and the rebuild", () => {
  const text = describeRecrawl(recrawl);
  expect(text).toContain("beside the load, 0.25 of its time, 0.50 of its processor time");
  expect(text).toContain("beside the rebuild, 2.00 of its time, 0.25 of its processor time");
  expect(text).not.toContain("WRONG");
});

test("what is wrong anywhere counts and is told", () => {
  const bad = { ...cost, wrong: 3, problems: ["a cell differs"] };
  const report = (crawls: RecrawlReport["crawls"], load = cost): RecrawlReport => ({
    configuration,
    first: { ...first, load },
    crawls,
  });
  expect(wrongOf(report([recrawl]))).toBe(0);
  expect(wrongOf(report([{ ...recrawl, update: bad }]))).toBe(3);
  expect(wrongOf(report([{ ...recrawl, load: bad }], bad))).toBe(6);
  expect(describeRecrawl({ ...recrawl, update: bad })).toContain("WRONG: a cell differs");
});
