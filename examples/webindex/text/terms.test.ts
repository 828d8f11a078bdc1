import fc from "fast-check";
import { expect, test } from "vitest";
import { partLength, whole } from "./parts.js";
import { compatible, countTerms, longestTerm, maxTerms, termCounts } from "./terms.js";
import { visitWords } from "./words.js";

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

test("Chinese, Japanese and Thai text is divided into words", () => {
  expect([...termCounts("全文検索エンジン, Node入門。")]).toEqual([
    ["全文", 1],
    ["検索", 1],
    ["エンジン", 1],
    ["node", 1],
    ["入門", 1],
  ]);
  expect([...termCounts("我喜欢数据库, 他也喜欢").keys()]).toContain("喜欢");
  expect([...termCounts("สวัสดีชาวโลก").keys()]).toEqual(["สวัสดี", "ชาว", "โลก"]);
});

test("a long run without spaces is divided in pieces, because the segmenter's time is quadratic", () => {
  const counts = termCounts("日本語の文法を学ぶ".repeat(3_000));
  expect(counts.get("文法")).toBeGreaterThan(2_700);
  // A character of two code units is never cut in two.
  const rare = "\u{20000}";
  expect([...termCounts(`語${rare.repeat(1_000)}`).keys()].join("")).not.toMatch(/\p{Surrogate}/u);
});

test("equivalent forms are one term", () => {
  expect(terms("caf\u00e9 cafe\u0301 ＣＡＦÉ ﬁn fin")).toEqual([
    ["café", 3],
    ["fin", 2],
  ]);
});

test("a run of marks is cut, because the time of a normalization grows with its square", () => {
  for (const marks of ["\u0315\u0300", "\u0315\uff9e"]) {
    const long = compatible(`a\u0301 b${marks.repeat(500)} c`);
    expect([long.length, long.slice(0, 3), long.slice(-2)]).toEqual([35, "\u00e1 b", " c"]);
    expect(terms(long).slice(-1)).toEqual([["c", 1]]);
  }
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

test("words are exactly the matches of their definition, at their places", () => {
  const definition = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
  const unit = fc.constantFrom(..."aZ09 _-.é\u0301ßПہ²\u{1d400}🙂\ud800\udc00\u00a0—");
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 30 }), (units) => {
      const text = units.join("");
      const found: [string, number][] = [];
      whole(visitWords(text, (word, index) => void found.push([word, index])));
      expect(found).toEqual(Array.from(text.matchAll(definition), (match) => [match[0], match.index]));
    }),
    { numRuns: 2_000 },
  );
});

test("a text with more different terms than are counted says so", () => {
  const many = Array.from({ length: maxTerms }, (_, index) => `t${index}`).join(" ");
  expect(whole(countTerms(`${many} t0 ${"long".repeat(longestTerm)}`)).hasMore).toBe(false);
  expect(whole(countTerms(`${many} t${maxTerms}`))).toMatchObject({
    hasMore: true,
    counts: { size: maxTerms },
  });
});

test("terms are the same, wherever the parts of a text end", () => {
  const piece = "one naïve\u{10400}x 東京都に住む two3 \u{1f600}four ประเทศไทย";
  const expected = termCounts(piece);
  for (let before = 0; before <= piece.length; before++) {
    const found = termCounts(`${"-".repeat(partLength - before)}${piece}`);
    expect(found, `${before} before`).toEqual(expected);
    expect(termCounts(`${"x".repeat(partLength - before)} ${piece}`).size).toBe(expected.size);
  }
});
