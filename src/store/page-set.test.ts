import { expect, test } from "vitest";
import { PageSet } from "./page-set.js";

test("a set of pages holds pages beyond 8 TiB", () => {
  const last = 2 ** 31 + 5;
  const pages = new PageSet(last + 1);
  for (const page of [2, 2 ** 31 - 1, last]) {
    expect(pages.has(page)).toBe(false);
    pages.add(page);
    expect(pages.has(page)).toBe(true);
  }
  expect([0, 3, 2 ** 31, last - 1, last + 1, last + 8].filter((page) => pages.has(page))).toEqual([]);
});
