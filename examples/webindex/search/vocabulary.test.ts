import fc from "fast-check";
import { expect, it } from "vitest";
import { crawl, page } from "../testing/site.js";
import { WebIndex } from "../webindex.js";
import { search } from "./search.js";
import { SearchView } from "./view.js";
import { editDistance } from "./vocabulary.js";

it("suggests the nearest word, and of these the most common, only for unknown words", async () => {
  await using index = await WebIndex.open("memory:");
  await crawl(index, {
    "https://example.org/1": page("", "serialize walrus"),
    "https://example.org/2": page("", "serialise walrus"),
    "https://example.org/3": page("", "serialize marmot 12345"),
  });
  await using snapshot = await index.db.snapshot();
  const view = await SearchView.read(snapshot);
  const suggested = async (query: string) => (await search(view, query)).suggestion;
  expect(await suggested("serialike walrus")).toBe("serialize walrus");
  expect(await suggested("wlarus")).toBe("walrus");
  expect(await suggested("walrus marmot")).toBeUndefined();
  expect(await suggested("12346")).toBeUndefined();
  expect(await suggested("completely different")).toBeUndefined();
});

it("counts letters that are changed, added, left out or swapped", () => {
  expect(editDistance("walrus", "walrus", 2)).toBe(0);
  expect(editDistance("wlarus", "walrus", 2)).toBe(1);
  expect(editDistance("walru", "walrus", 2)).toBe(1);
  expect(editDistance("walrusses", "walrus", 2)).toBeGreaterThan(2);
});

it("stops early without changing what is within the limit", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 7 });
  fc.assert(
    fc.property(word, word, fc.integer({ min: 0, max: 3 }), (one, other, most) => {
      const exact = editDistance(one, other, 100);
      const bounded = editDistance(one, other, most);
      if (exact <= most) expect(bounded).toBe(exact);
      else expect(bounded).toBeGreaterThan(most);
    }),
  );
});
