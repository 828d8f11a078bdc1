import { describe, expect, test } from "vitest";
import { contentsOf, countWrong, type Document, exitCodeOf, rowOf } from "./verdict.js";

/** Three rows; the first two were updated three times, the third twice. */
const updates = 8;
const options = { rows: 3, bytes: 20 };
const right = (number: number, runs: number): Document => ({
  contents: contentsOf(number, 20),
  length: contentsOf(number, 20).length,
  runs,
});
const rows = (changed: Readonly<Record<number, Document>> = {}) =>
  [right(6, 3), right(7, 1), right(5, 2)].map(
    (document, row) => [rowOf(row), changed[row] ?? document] as const,
  );

describe("rows in the end", () => {
  test("are right where each has its last update, and what derives from it", () => {
    expect(countWrong(rows(), updates, options)).toBe(0);
    expect(countWrong([], 0, options)).toBe(0);
  });

  test.each<[string, Document]>([
    ["has an update before the last", right(3, 3)],
    ["has other contents of the same length", { ...right(6, 3), contents: "x".repeat(26) }],
    ["has the length of another update", { ...right(6, 3), length: 23 }],
    ["was never run for", { ...right(6, 3), runs: undefined }],
    ["was run for more often than it was updated", right(6, 4)],
    ["lost its contents", { length: 26, runs: 3 }],
  ])("are wrong where one %s", (_, document) => {
    expect(contentsOf(6, 20)).toHaveLength(26);
    expect(countWrong(rows({ 0: document }), updates, options)).toBe(1);
  });

  test("are wrong where one is missing, or one too many", () => {
    expect(countWrong(rows().slice(1), updates, options)).toBe(1);
    expect(countWrong([...rows(), [rowOf(3), right(0, 1)]], updates, options)).toBe(1);
    expect(countWrong([], updates, options)).toBe(3);
  });
});

test("rows that are wrong and problems that were found decide the exit code", () => {
  expect(exitCodeOf({ wrong: 0, problems: 0 })).toBe(0);
  expect(exitCodeOf({ wrong: 1, problems: 0 })).toBe(1);
  expect(exitCodeOf({ wrong: 0, problems: 1 })).toBe(1);
});
