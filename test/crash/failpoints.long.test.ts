import { expect, test } from "vitest";
import { newTally, type Plan, type Tally } from "./life.js";
import { playLife } from "./lives.js";
import { everyFailpoint } from "./plans.js";

/** Lives that a plan gets at most. Steps of resolution come up seldom, and not in every life. */
const maxLives = 4;

/** Each plan, again until its process came to its failpoint. */
function* untilStruck(plans: readonly Plan[], tally: Tally): Generator<Plan> {
  for (const plan of plans) {
    const { struck } = tally;
    for (let lives = 0; lives < maxLives && tally.struck === struck; lives++) yield plan;
  }
}

test("killed before and after every step of a commit: what is left is sound, whole and equal to the twin", async () => {
  const plans = everyFailpoint("SIGKILL");
  const halves = [0, 1].map((half) => plans.filter((_, index) => index % 2 === half));
  const played = halves.map(async (half, index) => {
    const tally = newTally();
    await playLife(`failpoints:${index}`, untilStruck(half, tally), tally);
    expect(tally.rounds).toBe(tally.planned);
    // Each was reached, so for each plan a process was killed at its failpoint.
    expect(tally.struck).toBe(half.length);
  });
  await Promise.all(played);
}, 600_000);
