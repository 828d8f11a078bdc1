import { describe, expect, test } from "vitest";
import { contentsOf, type Document, rowOf, wrongDocuments } from "./documents.js";

const right = (number: number, runs: number): Document => ({
  contents: contentsOf(number, 20),
  length: contentsOf(number, 20).length,
  runs,
});

describe("rows that are updated repeatedly", () => {
  /** Eight updates of three rows: three of the first row, three of the second, two of the third. */
  const updates = 8;
  const shape = { rows: 3, bytes: 20 };
  const rows = (changed: Readonly<Record<number, Document>> = {}) =>
    [right(6, 3), right(7, 1), right(5, 2)].map(
      (document, row) => [rowOf(row), changed[row] ?? document] as const,
    );

  test("are correct if each has its last update, and the data derived from it", () => {
    expect(wrongDocuments(rows(), updates, shape)).toEqual([]);
    expect(wrongDocuments([], 0, shape)).toEqual([]);
  });

  test.each<[string, Document]>([
    ["has an update before the last", right(3, 3)],
    ["has other contents of the same length", { ...right(6, 3), contents: "x".repeat(26) }],
    ["has the length of another update", { ...right(6, 3), length: 23 }],
    ["was never run for", { ...right(6, 3), runs: undefined }],
    ["was run for more often than it was updated", right(6, 4)],
    ["lost its contents", { length: 26, runs: 3 }],
  ])("are wrong if one %s", (_, document) => {
    expect(contentsOf(6, 20)).toHaveLength(26);
    expect(wrongDocuments(rows({ 0: document }), updates, shape)).toEqual([rowOf(0)]);
  });

  test("are wrong if a row is missing or superfluous", () => {
    expect(wrongDocuments(rows().slice(1), updates, shape)).toEqual([rowOf(0)]);
    expect(wrongDocuments([...rows(), [rowOf(3), right(0, 1)]], updates, shape)).toEqual([rowOf(3)]);
    expect(wrongDocuments([], updates, shape)).toHaveLength(3);
  });
});

describe("documents that are each written once", () => {
  const written = 5;
  const shape = { rows: Number.POSITIVE_INFINITY, bytes: 20 };
  const documents = (changed: Readonly<Record<number, Document>> = {}) =>
    Array.from(
      { length: written },
      (_, number) => [rowOf(number), changed[number] ?? right(number, 1)] as const,
    );

  test("are correct if each has its contents and was handled once", () => {
    expect(wrongDocuments(documents(), written, shape)).toEqual([]);
  });

  test.each<[string, Document]>([
    ["was not handled", { contents: contentsOf(3, 20) }],
    ["was handled twice", right(3, 2)],
    ["has a length of other contents", { ...right(3, 1), length: 7 }],
    ["has other contents of the same length", { ...right(3, 1), contents: "y".repeat(23) }],
    ["lost its contents", { length: 23, runs: 1 }],
  ])("are wrong if one %s", (_, document) => {
    expect(wrongDocuments(documents({ 3: document }), written, shape)).toEqual([rowOf(3)]);
  });

  test("are wrong if a document is missing or superfluous", () => {
    expect(wrongDocuments(documents().slice(1), written, shape)).toEqual([rowOf(0)]);
    expect(wrongDocuments(documents(), written - 1, shape)).toEqual([rowOf(written - 1)]);
  });
});
