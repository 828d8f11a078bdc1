import { expect, test } from "vitest";
import { pages } from "./index.js";

const pageOf = (start = 0) => ({ items: [start, start + 1], next: start < 4 ? start + 2 : undefined });

test("pages are read one after another, each on demand, up to the one without a next", async () => {
  const asked: (number | undefined)[] = [];
  const read = (start: number | undefined) => {
    asked.push(start);
    return start === 2 ? Promise.resolve(pageOf(start)) : pageOf(start);
  };
  const seen: number[] = [];
  for await (const { items } of pages(read)) {
    seen.push(...items);
    expect(asked).toHaveLength(seen.length / 2);
  }
  expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
  expect(asked).toEqual([undefined, 2, 4]);
});

test("begin at the given position, and end when the caller stops", async () => {
  const asked: (number | undefined)[] = [];
  const read = (start: number | undefined) => {
    asked.push(start);
    return pageOf(start);
  };
  for await (const { items } of pages(read, 2)) if (items.includes(2)) break;
  expect(asked).toEqual([2]);
});

test("a page that cannot be read ends the iteration with its error", async () => {
  const read = (start: number | undefined) => {
    if (start === 2) throw new RangeError("gone");
    return pageOf(start);
  };
  const seen: number[] = [];
  const reading = async () => {
    for await (const { items } of pages(read)) seen.push(...items);
  };
  await expect(reading()).rejects.toThrow("gone");
  expect(seen).toEqual([0, 1]);
});
