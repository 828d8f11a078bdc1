import { describe, expect, test } from "vitest";
import { pageId } from "../../examples/webindex/identity.js";
import type { Page } from "../../examples/webindex/sources/index.js";
import { delaysOf, putAtPace } from "./pace.js";

describe("delaysOf", () => {
  test("counts from the time a page was due until it could first be found, in ascending order", () => {
    const due = [
      ["a", 100],
      ["b", 200],
    ] as const;
    const found = [
      ["a", 190],
      ["b", 230],
      ["a", 150],
      ["other", 1],
    ] as const;
    expect(delaysOf(due, found)).toEqual({ delays: [30, 50], unfound: 0 });
  });

  test("counts pages that were not found themselves", () => {
    expect(delaysOf([["a", 1]], [])).toEqual({ delays: [], unfound: 1 });
  });
});

const pages = Array.from({ length: 20 }, (_, index) => ({ url: `https://example.org/${index}` }) as Page);

test("puts every page, none before it is due, and counts those after the first tenth", async () => {
  const put: string[] = [];
  const due = await putAtPace(pages, 1_000, async ({ url }) => {
    put.push(url);
  });
  expect(put).toEqual(pages.map(({ url }) => url));
  expect(due.map(([id]) => id)).toEqual(pages.slice(2).map(({ url }) => pageId(url).text));
  for (const [index, [, at]] of due.entries()) expect(at - due[0]![1]).toBeCloseTo(index, 1);
});

test("does not wait for one page's commit before the next page", async () => {
  let [under, most] = [0, 0];
  let release = () => {};
  const all = new Promise<void>((resolve) => {
    release = resolve;
  });
  await putAtPace(pages, 1_000, async () => {
    most = Math.max(most, ++under);
    if (under === pages.length) release();
    await all;
  });
  expect(most).toBe(pages.length);
});
