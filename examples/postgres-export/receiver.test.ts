import { expect, test } from "vitest";
import { newest } from "./receiver.js";

test("the newest entry of a key is that of the highest sequence, wherever it is in the list", () => {
  const entries = [
    ["a", 2],
    ["b", 1],
    ["a", 3],
    ["a", 1],
  ] as const;
  const found = newest(entries.map(([key, sequence]) => ({ key, sequence, value: null })));
  expect([...found].map(({ key, sequence }) => [key, sequence])).toEqual([
    ["a", 3],
    ["b", 1],
  ]);
});
