import { expect, test } from "vitest";
import { newTally, type Plan, type Tally } from "./life.js";
import { playLife } from "./lives.js";
import { everyFailpoint } from "./plans.js";

/**
 * The most rounds that a plan gets. Steps of lock resolution are rare, and do not occur in every
 * round.
 */
const maxLives = 4;

/** Repeats each plan until its process has reached its failpoint. */
function* untilStruck(plans: readonly Plan[], tally: Tally): Generator<Plan> {
  for (const plan of plans) {
    const { struck } = tally;
    for (let lives = 0; lives < maxLives && tally.struck === struck; lives++) yield plan;
  }
}

test("a process killed before or after any step of a commit leaves a sound, complete database that equals the twin", async () => {
  const plans = everyFailpoint("SIGKILL");
  const halves = [0, 1].map((half) => plans.filter((_, index) => index % 2 === half));
  const played = halves.map(async (half, index) => {
    const tally = newTally();
    await playLife(`failpoints:${index}`, untilStruck(half, tally), tally);
    expect(tally.rounds).toBe(tally.planned);
    // Every failpoint was reached, so a process was killed at each of them.
    expect(tally.struck).toBe(half.length);
  });
  await Promise.all(played);
}, 600_000);
