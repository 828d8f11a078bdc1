import fc from "fast-check";
import { expect, it } from "vitest";
import { crawl, page } from "../testing/site.js";
import { WebIndex } from "../webindex.js";
import { search } from "./search.js";
import { Turns } from "./turns.js";
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

it("suggests nothing for a query of many unknown words", async () => {
  await using index = await WebIndex.open("memory:");
  await crawl(index, { "https://example.org/1": page("", "walrus") });
  await using snapshot = await index.db.snapshot();
  const view = await SearchView.read(snapshot);
  const suggested = async (query: string) => (await search(view, query)).suggestion;
  expect(await suggested("walrsu walrux walruz")).toBe("walrus walrus walrus");
  expect(await suggested("walrsu walrux walruz waltus")).toBeUndefined();
});

it("lets other requests run, and ends with its request", async () => {
  await using index = await WebIndex.open("memory:");
  const words = Array.from({ length: 2_000 }, (_, at) => `walrus${at.toString(36)}`).join(" ");
  await crawl(index, { "https://example.org/1": page("", words) });
  await using snapshot = await index.db.snapshot();
  const vocabulary = await (await SearchView.read(snapshot)).vocabulary();
  let now = 0;
  const turns = new Turns(() => (now += 10));
  let others = 0;
  const count = () => {
    others++;
    other = setImmediate(count);
  };
  let other = setImmediate(count);
  await vocabulary.suggest("walruss", { turns });
  clearImmediate(other);
  expect(others).toBeGreaterThan(2);
  const signal = AbortSignal.abort(new Error("gone"));
  await expect(vocabulary.suggest("walruss", { turns, signal })).rejects.toThrow("gone");
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
