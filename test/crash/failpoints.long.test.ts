import { expect, test } from "vitest";
import { newTally } from "./life.js";
import { playLife } from "./lives.js";
import { everyFailpoint } from "./plans.js";

test("killed before and after every step of a commit: what is left is sound, whole and equal to the twin", async () => {
  const tally = newTally();
  const plans = everyFailpoint("SIGKILL");
  const halves = [0, 1].map((half) => plans.filter((_, index) => index % 2 === half));
  await Promise.all(halves.map((half, index) => playLife(`failpoints:${index}`, half, tally)));
  expect(tally.rounds).toBe(plans.length);
  // Each was reached, so each process was killed at its failpoint.
  expect(tally.struck).toBe(plans.length);
}, 300_000);
