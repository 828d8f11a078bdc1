import { expect, it } from "vitest";
import { groupVersions, isNearDuplicate, versionKey } from "./versions.js";

it.each([
  ["https://docs.example.org/3.11/library/os.html", "https://docs.example.org/*/library/os.html"],
  ["https://docs.example.org/latest/os.html", "https://docs.example.org/*/os.html"],
  ["https://docs.example.org/v2/os.html", "https://docs.example.org/*/os.html"],
  ["https://docs.example.org/1.0-rc.2/os.html", "https://docs.example.org/*/os.html"],
  ["npm:/walrus@1.2.3/README.md", "npm:/walrus@*/README.md"],
])("knows the version in %s", (url, key) => {
  expect(versionKey(url)).toBe(key);
});

it.each([
  "https://example.org/os.html",
  "https://example.org/releases/3.11",
  "https://example.org/h2o/os.html",
  "https://example.org/@scope/os.html",
])("knows no version in %s", (url) => {
  expect(versionKey(url)).toBeUndefined();
});

it("groups pages with nearly the same words whose URLs differ in the version only", async () => {
  const terms = new Map([
    ["x:/1.0/a", "cat 1 dog 2 eel 1 fox 1"],
    ["x:/2.0/a", "cat 1 dog 2 eel 1 gnu 5"],
    ["x:/3.0/a", "quite 1 another 1 page 1"],
    ["x:/2.0/b", "cat 1 dog 2 eel 1 fox 1"],
  ]);
  const urls = ["x:/2.0/a", "x:/3.0/a", "x:/1.0/a", "x:/2.0/b"].map((url) => ({ url }));
  const groups = await groupVersions(urls, async (url) => terms.get(url)!);
  expect(groups.map(({ best, others }) => [best.url, ...others.map(({ url }) => url)])).toEqual([
    ["x:/2.0/a", "x:/1.0/a"],
    ["x:/3.0/a"],
    ["x:/2.0/b"],
  ]);
});

it("compares terms, not how often they occur", () => {
  expect(isNearDuplicate("a 1 b 1 c 1 d 1", "a 9 b 9 c 9 e 1")).toBe(true);
  expect(isNearDuplicate("a 1 b 1 c 1", "a 1 d 1 e 1")).toBe(false);
});

it("reads the terms of a page once at most, however many pages have its key", async () => {
  const results = Array.from({ length: 1_000 }, (_, number) => ({ url: `x:/article/${number}/` }));
  const read: string[] = [];
  const groups = await groupVersions(results, async (url) => {
    read.push(url);
    return `${url} 1`;
  });
  expect(groups).toHaveLength(1_000);
  expect(new Set(read).size).toBe(read.length);
});

it("ends if it is aborted", async () => {
  const abort = new AbortController();
  const results = Array.from({ length: 1_000 }, (_, number) => ({ url: `x:/article/${number}/` }));
  let reads = 0;
  const grouping = groupVersions(
    results,
    async () => {
      if (++reads === 10) abort.abort();
      return "cat 1";
    },
    { signal: abort.signal },
  );
  await expect(grouping).rejects.toThrow("aborted");
  expect(reads).toBeLessThan(20);
});
