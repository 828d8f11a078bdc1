import { describe, expect, test } from "vitest";
import { contentsOf, type Document, exitCodeOf, phasesOf, rowOf, wrongDocuments } from "./verdict.js";

const written = 5;
const right = (number: number): Document => ({
  contents: contentsOf(number),
  length: contentsOf(number).length,
  runs: 1,
});
const documents = (changed: Readonly<Record<number, Document>> = {}) =>
  Array.from({ length: written }, (_, number) => [rowOf(number), changed[number] ?? right(number)] as const);

describe("documents in the end", () => {
  test("are right where each is as it was written and was handled once", () => {
    expect(wrongDocuments(documents(), written)).toEqual([]);
  });

  test.each<[string, Document]>([
    ["was not handled", { contents: contentsOf(3) }],
    ["was handled twice", { ...right(3), runs: 2 }],
    ["has a length of other contents", { ...right(3), length: 7 }],
    ["has other contents of the same length", { ...right(3), contents: "yxxx" }],
    ["lost its contents", { length: contentsOf(3).length, runs: 1 }],
  ])("are wrong where one %s", (_, document) => {
    expect(wrongDocuments(documents({ 3: document }), written)).toEqual([rowOf(3)]);
  });

  test("are wrong where one is missing, or one too many", () => {
    expect(wrongDocuments(documents().slice(1), written)).toEqual([rowOf(0)]);
    expect(wrongDocuments(documents(), written - 1)).toEqual([rowOf(written - 1)]);
  });
});

test("what is lost and problems that were found decide the exit code, and so does a load that did nothing", () => {
  expect(exitCodeOf({ changes: 10, wrong: 0, problems: 0 })).toBe(0);
  expect(exitCodeOf({ changes: 10, wrong: 1, problems: 0 })).toBe(1);
  expect(exitCodeOf({ changes: 10, wrong: 0, problems: 1 })).toBe(1);
  expect(exitCodeOf({ changes: 0, wrong: 0, problems: 0 })).toBe(1);
});

describe("phases", () => {
  const samples = [60, 62, 20, 40, 30, 30, 50, 70].map((rate, index) => ({ at: index + 1, rate }));
  const marks = [
    { at: 2.5, text: "killed" },
    { at: 4.5, text: "replaced" },
  ];

  test("are before the kill, until the replacement, and the second half after it", () => {
    expect(phasesOf(samples, marks)).toEqual({ before: 61, during: 30, after: 60 });
  });

  test("are no figures where one has no sample", () => {
    expect(() => phasesOf(samples.slice(2), marks)).toThrow(RangeError);
    expect(() => phasesOf([], marks)).toThrow(RangeError);
  });
});
