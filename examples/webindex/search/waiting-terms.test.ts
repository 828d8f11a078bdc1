import { expect, it } from "vitest";
import { termHash } from "../identity.js";
import { seeded } from "../testing/site.js";
import { WaitingTerms } from "./waiting-terms.js";

const random = seeded(11);
const word = () => `w${random(1_000_000_000)}`;

it("never misses a term, and seldom has one too many, in pages of every size", () => {
  for (const size of [0, 1, 2, 10, 300, 20_000]) {
    const words = Array.from({ length: size }, word);
    const terms = new WaitingTerms(1, words.map((each) => `${each} 1`).join(" "), 0);
    expect(words.filter((each) => !terms.mayHave(termHash(each)))).toEqual([]);
    const known = new Set(words);
    const others = Array.from({ length: 10_000 }, word).filter((each) => !known.has(each));
    const tooMany = others.filter((each) => terms.mayHave(termHash(each)));
    // 1.1 % if the filter has 12 bits for each term, fewer if it has more.
    expect([size, tooMany.length / others.length < 0.03]).toEqual([size, true]);
  }
});

it("knows the level of the rank, and keeps the text if there is room", () => {
  expect(new WaitingTerms(7, "dog 2 ^ 3", 18)).toMatchObject({
    version: 7,
    text: "dog 2 ^ 3",
    textBytes: 18,
    level: 3,
  });
  expect(new WaitingTerms(7, "dog 2 ^ 3", 17)).toMatchObject({ text: undefined, textBytes: 0, level: 3 });
  expect(new WaitingTerms(7, "", 0)).toMatchObject({ text: "", level: 0 });
});
