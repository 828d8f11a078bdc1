import { describe, expect, it } from "vitest";
import { countsOf, indexedTerms, lengthsOf, parseCounts, parseTerms, wordsOf } from "./terms.js";
import { termCounts } from "./text/index.js";

describe("the stored terms of a page", () => {
  it("count text and title separately", () => {
    expect(wordsOf("Cat and Dog", termCounts("a dog, a dog, a bird"))).toBe(
      "a 3 dog 2,1 bird 1 cat 0,1 and 0,1",
    );
    expect(wordsOf("", termCounts(""))).toBe("");
  });

  it("include the anchors, as often as they link here", () => {
    const anchors = [
      ["The Dog", 2],
      ["dog", 1],
    ] as const;
    expect(indexedTerms("dog 2,1 bird 1", anchors, 0)).toBe("dog 2,1,3 bird 1 the 0,0,2");
    expect(indexedTerms("bird 4", [["bird", 1]], 0)).toBe("bird 4,0,1");
    expect(indexedTerms("bird 4", [], 0)).toBe("bird 4");
    expect(indexedTerms("", [["x", 1]], 0)).toBe("x 0,0,1");
  });

  it("include the level of the rank, which is no word and has no length", () => {
    expect(indexedTerms("dog 2", [], 5)).toBe("dog 2 ^ 3");
    expect(indexedTerms("", [], 1)).toBe("^ 1");
    expect(lengthsOf("dog 2 ^ 3")).toEqual([1, 0, 0]);
    expect(countsOf("dog 2 ^ 3", "^")).toEqual([3, 0, 0]);
  });

  it("can be parsed again", () => {
    expect([...parseTerms("dog 2,1,3 bird 1")]).toEqual([
      ["dog", "2,1,3"],
      ["bird", "1"],
    ]);
    expect(parseTerms("").size).toBe(0);
    expect(parseCounts("2")).toEqual([2, 0, 0]);
    expect(parseCounts("0,1")).toEqual([0, 1, 0]);
    expect(parseCounts("0,0,3")).toEqual([0, 0, 3]);
    expect(lengthsOf("dog 2,1,3 bird 1 the 0,0,2")).toEqual([2, 1, 2]);
    expect(lengthsOf("")).toEqual([0, 0, 0]);
  });

  it("give the counts of one term, which is not confused with part of another term or with a count", () => {
    const stored = "dogma 5 12 3 dog 2,1,3 3 7 hotdog 4 été 0,1";
    for (const [term, counts] of parseTerms(stored)) {
      expect([term, countsOf(stored, term)]).toEqual([term, parseCounts(counts)]);
    }
    for (const term of ["do", "og", "5", "7", "é", "cat"]) {
      expect([term, countsOf(stored, term)]).toEqual([term, undefined]);
    }
    expect(countsOf("", "dog")).toBeUndefined();
  });
});
