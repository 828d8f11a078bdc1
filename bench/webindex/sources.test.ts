import { expect, onTestFinished, test } from "vitest";
import { packContents } from "../../examples/webindex/contents.js";
import { limitPages, readContents, readItems, sourceOf } from "./sources.js";
import { gone, page, revisit, urlOf } from "./testing.js";

test("every page of the sources counts, and the result is their final state", async () => {
  const first = sourceOf("first", [page("a", "old"), page("b", "went"), page("c", "stayed")]);
  const second = sourceOf("second", [
    page("a", "new"),
    gone("b"),
    revisit("c", "c"),
    revisit("d", "a"),
    revisit("e", "b"),
  ]);
  const { pages, contents } = await readContents([first, second]);
  expect(pages).toBe(7);
  const left = [page("a", "new"), page("c", "stayed"), { ...page("a", "new"), url: urlOf("d") }];
  expect([...contents]).toEqual(left.map((each) => [each.url, packContents(each)]));
});

test("a limit on pages holds for each source, and for the processes that are started", async () => {
  const before = { ...process.env };
  onTestFinished(() => {
    delete process.env.PERCOLATORDB_BENCH_PAGES;
  });
  limitPages(3);
  expect(Object.entries(process.env).filter(([name, value]) => before[name] !== value)).toEqual([
    ["PERCOLATORDB_BENCH_PAGES", "3"],
  ]);
  expect(await readItems([])).toHaveLength(3);
  expect(await readItems(["docs/decisions", "docs/recipes"])).toHaveLength(6);
});
