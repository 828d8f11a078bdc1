import { expect, test } from "vitest";
import { keptPacks } from "./chain.js";

/** Makes `count` backups of `changed` pages each, after a full one. */
function chainOf(full: number, changed: (backup: number) => number, count: number) {
  let packs: { readonly pages: number; readonly from: number }[] = [{ pages: full, from: 0 }];
  let written = 0;
  let longest = 0;
  let fulls = 0;
  for (let backup = 1; backup <= count; backup++) {
    const kept = keptPacks(packs);
    const from = packs[kept]?.from ?? backup;
    let pages = 0;
    for (let each = Math.max(1, from); each <= backup; each++) pages += changed(each);
    pages = kept === 0 ? full : Math.min(full, pages);
    if (kept === 0) fulls++;
    packs = [...packs.slice(0, kept), { pages, from: kept === 0 ? 0 : from }];
    written += pages;
    longest = Math.max(longest, packs.length);
  }
  return { written, longest, fulls };
}

test("a chain stays short, and pages are not written often", () => {
  const { written, longest, fulls } = chainOf(100_000, () => 10, 5_000);
  expect(longest).toBeLessThanOrEqual(7 + Math.log2(100_000 / 10) + 1);
  // 50,000 pages were changed. Their sizes can double 13 times, and from 8 packs on that begins.
  expect(written).toBeLessThanOrEqual(50_000 * 12);
  expect(fulls).toBeLessThanOrEqual(1);
});

test("a full backup comes once the changes are as many as the pages", () => {
  expect(chainOf(1_000, () => 100, 7).fulls).toBe(0);
  expect(chainOf(1_000, () => 200, 9).fulls).toBe(1);
  expect(chainOf(1_000, () => 1_000, 80).fulls).toBe(10);
});

test("backups of very different sizes", () => {
  const { longest } = chainOf(100_000, (backup) => (backup % 10 === 0 ? 3_000 : 1 + (backup % 7)), 3_000);
  expect(longest).toBeLessThanOrEqual(7 + Math.log2(100_000) + 1);
});
