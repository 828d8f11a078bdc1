import { expect, test } from "vitest";
import { busyLoop } from "../../test/support/busy-loop.js";
import { WorkSlices } from "./work-slices.js";

/** Does `steps` steps of 1 ms, and returns how many turns the event loop had, each of `turnMs`. */
async function turnsOf(steps: number, turnMs: number): Promise<number> {
  const loop = busyLoop(turnMs);
  const slices = new WorkSlices(loop.environment);
  for (let step = 0; step < steps; step++) {
    loop.pass(1);
    await slices.next();
  }
  return loop.turns;
}

test("every step is followed by a turn while turns are short", async () => {
  expect(await turnsOf(100, 0)).toBe(100);
  expect(await turnsOf(100, 4)).toBe(100);
});

test("in a busy process, a fifth of the time is for the work", async () => {
  expect(await turnsOf(100, 40)).toBe(10);
  expect(await turnsOf(100, 100)).toBe(4);
});

test("others wait for at most 50 ms", async () => {
  expect(await turnsOf(1_000, 10_000)).toBe(20);
});
