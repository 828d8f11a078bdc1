import { expect, test } from "vitest";
import { loadEach } from "./side.js";

test.each([
  { paths: ["one", "two"], calls: ["load one", "settle", "load two", "settle"], pages: 6 },
  { paths: [], calls: ["load ", "settle"], pages: 1 },
])("each source is indexed completely before the next one: $paths", async ({ paths, calls, pages }) => {
  const called: string[] = [];
  const all = await loadEach(
    paths,
    async (few) => {
      called.push(`load ${few.join()}`);
      return few.join().length || 1;
    },
    async () => called.push("settle"),
  );
  expect(called).toEqual(calls);
  expect(all).toBe(pages);
});
