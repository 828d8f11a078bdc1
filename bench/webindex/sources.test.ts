import { expect, test } from "vitest";
import { packContents } from "../../examples/webindex/contents.js";
import { readContents, sourceOf } from "./sources.js";
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
