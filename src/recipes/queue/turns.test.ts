import { expect, test } from "vitest";
import { nextTurn } from "./turns.js";

test("no task takes a hundred turns in a row, and the tasks alternate", () => {
  let turn = 0;
  let inARow = 0;
  let longest = 0;
  let handedOver = 0;
  for (let runs = 1; runs <= 5_000; runs++) {
    const next = nextTurn(turn, runs);
    inARow = next === turn ? inARow + 1 : 0;
    if (next !== turn) handedOver++;
    turn = next;
    longest = Math.max(longest, inARow);
  }
  expect(longest).toBeLessThanOrEqual(100);
  expect(handedOver).toBe(100);
});
