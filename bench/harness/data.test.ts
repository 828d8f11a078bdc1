import { expect, test } from "vitest";
import { rowOf, shuffled, textOf } from "./data.js";

test("rows ascend with their index and have 40 to 64 bytes", () => {
  const rows = Array.from({ length: 500 }, (_, index) => rowOf(index));
  expect([...rows].sort()).toEqual(rows);
  expect(new Set(rows).size).toBe(500);
  for (const row of rows) {
    expect(Buffer.byteLength(row)).toBeGreaterThanOrEqual(40);
    expect(Buffer.byteLength(row)).toBeLessThanOrEqual(64);
  }
});

test("texts have exactly the requested bytes, and differ between cells and versions", () => {
  for (const bytes of [1, 50, 100, 1_000]) expect(Buffer.byteLength(textOf(12, bytes))).toBe(bytes);
  expect(textOf(1, 100)).not.toBe(textOf(2, 100));
  expect(textOf(1, 100, 0)).not.toBe(textOf(1, 100, 1));
  expect(textOf(1, 100)).toBe(textOf(1, 100));
});

test("a shuffled order contains every number once, and is the same for the same seed", () => {
  const order = shuffled(1_000, 5);
  expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 1_000 }, (_, index) => index));
  expect(order).toEqual(shuffled(1_000, 5));
  expect(order).not.toEqual(shuffled(1_000, 6));
});
