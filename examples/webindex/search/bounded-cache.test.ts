import { expect, it } from "vitest";
import { BoundedCache } from "./bounded-cache.js";

it("drops what was used least recently when it is full", () => {
  const cache = new BoundedCache<string, number>(10);
  cache.set("a", 1, 4);
  cache.set("b", 2, 4);
  expect(cache.get("a")).toBe(1);
  cache.set("c", 3, 4);
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([1, undefined, 3]);
  expect(cache.bytes).toBe(8);
});

it("counts a replaced value once, and does not keep what is too large", () => {
  const cache = new BoundedCache<string, number>(10);
  cache.set("a", 1, 4);
  cache.set("a", 2, 6);
  expect([cache.get("a"), cache.bytes]).toEqual([2, 6]);
  cache.set("a", 3, 11);
  expect([cache.get("a"), cache.bytes]).toEqual([undefined, 0]);
});
