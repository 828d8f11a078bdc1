import { expect, test } from "vitest";
import { restAfterMove } from "./move-rest.js";

test("a mover rests for four times as long as it moved, within bounds", () => {
  expect([0, 1, 15, 20, 60, 100, 10_000].map(restAfterMove)).toEqual([60, 60, 60, 80, 240, 250, 250]);
});
