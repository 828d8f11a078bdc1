import { expect, test } from "vitest";
import { CompleteTables } from "./complete-tables.js";

test("a complete table is known for a second, until it is attached again or must be compared", () => {
  let now = 0;
  const complete = new CompleteTables({ monotonic: () => now });
  const table = { id: "1", generation: "1" };
  expect(complete.has(table)).toBe(false);
  complete.add(table);
  expect(complete.has(table)).toBe(true);
  expect(complete.has({ ...table, generation: "2" })).toBe(false);
  expect(complete.has({ ...table, id: "2" })).toBe(false);
  now = 999;
  expect(complete.has(table)).toBe(true);
  now = 1_000;
  expect(complete.has(table)).toBe(false);
  complete.add(table);
  complete.delete(table);
  expect(complete.has(table)).toBe(false);
});
