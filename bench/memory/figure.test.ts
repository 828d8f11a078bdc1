import { expect, test } from "vitest";
import { trendOf } from "./figure.js";

test("a growth of ten a second is a slope of six hundred a minute", () => {
  const samples = Array.from({ length: 20 }, (_, at) => ({ x: at, y: 100 + 10 * at }));
  expect(trendOf(samples)).toEqual({ start: 115, median: 195, end: 275, max: 290, perMinute: 600 });
});

test("peaks do not add a slope to a flat line", () => {
  const samples = Array.from({ length: 20 }, (_, at) => ({ x: at, y: at % 5 === 4 ? 500 : 100 }));
  expect(trendOf(samples)).toMatchObject({ start: 100, median: 100, end: 100, max: 500, perMinute: 0 });
});
