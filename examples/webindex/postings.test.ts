import { describe, expect, it } from "vitest";
import { bucketOf } from "./identity.js";
import { decodePostings, encodePostings, findTerm } from "./postings.js";

const cell = new Map([
  ["walrus", Uint8Array.of(1, 2, 3)],
  ["été", new Uint8Array(300).fill(7)],
  ["a", new Uint8Array(0)],
]);

describe("a cell of the postings", () => {
  it("decodes to the encoded cell, ordered by term", () => {
    const decoded = decodePostings(encodePostings(cell));
    expect([...decoded.keys()]).toEqual(["a", "walrus", "été"]);
    for (const [term, block] of cell) expect([...decoded.get(term)!]).toEqual([...block]);
  });

  it("has the same bytes whatever the order of insertion, and is not stored if it is empty", () => {
    expect(encodePostings(new Map([...cell].reverse()))).toEqual(encodePostings(cell));
    expect(encodePostings(new Map())).toBeUndefined();
    expect(decodePostings(undefined).size).toBe(0);
  });

  it("is searched for one term without decoding the others", () => {
    const stored = encodePostings(cell)!;
    expect([...findTerm(stored, "walrus")!]).toEqual([1, 2, 3]);
    expect(findTerm(stored, "été")).toHaveLength(300);
    expect(findTerm(stored, "wal")).toBeUndefined();
    expect(findTerm(stored, "zebra")).toBeUndefined();
  });

  it("is one of 128 in a row, over which terms are spread evenly", () => {
    const counts = new Map<string, number>();
    for (let index = 0; index < 25_600; index++) {
      const bucket = bucketOf(`term${index}`);
      counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    }
    expect(counts.size).toBe(128);
    expect(Math.max(...counts.values())).toBeLessThan(400);
  });
});
