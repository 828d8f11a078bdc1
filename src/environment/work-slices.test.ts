import { expect, test } from "vitest";
import { busyLoop } from "../../test/support/busy-loop.js";
import { WorkSlices } from "./work-slices.js";

/** Does `steps` steps, and returns how many turns the event loop had, each of `turnMs`. */
async function turnsOf(steps: number, turnMs: number): Promise<number> {
  const loop = busyLoop(turnMs);
  const slices = new WorkSlices(loop.environment);
  for (let step = 0; step < steps; step++) {
    await slices.next();
  }
  return loop.turns;
}

test("every step is followed by a turn while turns are short", async () => {
  expect(await turnsOf(100, 0)).toBe(100);
  expect(await turnsOf(100, 15)).toBe(100);
});

test("in a busy process, more steps follow a turn the longer it takes", async () => {
  expect(await turnsOf(101, 32)).toBe(34);
  expect(await turnsOf(101, 150)).toBe(11);
});

test("others wait for at most 32 steps", async () => {
  expect(await turnsOf(321, 10_000)).toBe(11);
});
