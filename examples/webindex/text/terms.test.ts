import { expect, test } from "vitest";
import { longestTerm, maxTerms, termCounts } from "./terms.js";

const terms = (text: string) => [...termCounts(text)];

test("words of any script, in lower case, counted in the order of first occurrence", () => {
  expect(terms("The cat, the DOG; sqlite3_open_v2() x=1.5")).toEqual([
    ["the", 2],
    ["cat", 1],
    ["dog", 1],
    ["sqlite3", 1],
    ["open", 1],
    ["v2", 1],
    ["x", 1],
    ["1", 1],
    ["5", 1],
  ]);
  expect([...termCounts("Привет МИР हिन्दी 日本語 naïve").keys()]).toEqual([
    "привет",
    "мир",
    "हिन्दी",
    "日本語",
    "naïve",
  ]);
});

test("equivalent forms are one term", () => {
  expect(terms("caf\u00e9 cafe\u0301 ＣＡＦÉ ﬁn fin")).toEqual([
    ["café", 3],
    ["fin", 2],
  ]);
});

test("text without terms", () => {
  expect(terms("")).toEqual([]);
  expect(terms("--- … \ud800 \u0301 🙂")).toEqual([]);
});

test("limits: long words are left out, and terms beyond the maximum number", () => {
  const longest = "a".repeat(longestTerm);
  expect(terms(`${longest} ${longest}a b`)).toEqual([
    [longest, 1],
    ["b", 1],
  ]);
  const many = Array.from({ length: maxTerms + 10 }, (_, index) => `t${index}`).join(" ");
  const counts = termCounts(`${many} t0 t${maxTerms + 5}`);
  expect(counts.size).toBe(maxTerms);
  expect(counts.get("t0")).toBe(2);
});

test("constructor and other property names of objects are ordinary words", () => {
  expect(terms("constructor __proto__ toString")).toEqual([
    ["constructor", 1],
    ["proto", 1],
    ["tostring", 1],
  ]);
});
