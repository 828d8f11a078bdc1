import { expect, test } from "vitest";
import { isSameType } from "./column-shape.js";

test.each([
  ["mood", "shop.mood", true],
  ['"Odd name"[]', "shop.Odd name[]", true],
  ["shop.mood", "shop.mood", true],
  ["old.mood", "shop.mood", false],
  ['"numeric"(10,2)', "numeric(10,2)", true],
  ["pg_catalog.jsonb", "jsonb", true],
  ["ood", "shop.mood", false],
  ["text", "integer", false],
])("the type %s of an earlier version's record and %s now", (before, now, isSame) => {
  expect(isSameType(before, now, false)).toBe(isSame);
});

test("a type whose schema was recorded is another one if its schema is", () => {
  expect(isSameType("date", "shop.date", true)).toBe(false);
  expect(isSameType("shop.date", "shop.date", true)).toBe(true);
});
