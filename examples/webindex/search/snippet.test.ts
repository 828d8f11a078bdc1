import { describe, expect, it } from "vitest";
import { makeSnippet } from "./snippet.js";

const filler = "lorem ipsum dolor sit amet ".repeat(40);
const show = (text: string, ...terms: string[]) =>
  makeSnippet(text, new Set(terms))
    .map(({ text, match }) => (match ? `[${text}]` : text))
    .join("");

describe("a snippet", () => {
  it("marks whole words, upper or lower case", () => {
    expect(show("A Cat, a catalog and the CAT.", "cat")).toBe("A [Cat], a catalog and the [CAT].");
  });

  it("marks the words of text without spaces", () => {
    expect(show("全文検索エンジン", "検索")).toBe("全文[検索]エンジン");
  });

  it("shows the part of the text with most of the words", () => {
    const shown = show(`cat ${filler} dog ${filler} the cat and the dog ${filler}`, "cat", "dog");
    expect(shown).toMatch(/^… .*\[cat\] and the \[dog\].* …$/);
    expect(shown.length).toBeLessThan(300);
  });

  it("is the beginning of the text if no word is found", () => {
    expect(show(`start ${filler}`, "cat")).toMatch(/^start lorem.* …$/);
    expect(show("", "cat")).toBe("");
  });

  it("does not cut a character in two, and is fast for one very long word", () => {
    const shown = show(`${"\u{1f600}".repeat(100_000)} cat`, "cat");
    expect(Buffer.from(shown).toString()).toBe(shown);
  });
});
