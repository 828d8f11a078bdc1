import { temporaryFolder } from "../support/databases.js";
import { Life, type Plan, type Tally } from "./life.js";
import { Random } from "./random.js";

/** A round that failed. Its folder is kept. */
export class FailedRound extends Error {}

/** Plays the rounds of one folder in sequence. Each round has its own seed. */
export async function playLife(seed: string, plans: Iterable<PlanOf>, tally: Tally): Promise<void> {
  const folder = await temporaryFolder();
  const life = new Life(folder.path, tally);
  let round = 0;
  try {
    for (const planOf of plans) {
      const random = new Random(`${seed}:${round}`);
      const plan = typeof planOf === "function" ? planOf(random) : planOf;
      try {
        await life.play(plan, random);
      } catch (error) {
        const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
        throw new FailedRound(
          `Seed ${seed}, round ${round}, left in ${folder.path}: ${JSON.stringify(plan)}\n${what}`,
        );
      }
      round++;
    }
  } finally {
    await life.end();
  }
  await folder.remove();
}

/** A fixed plan, or a function that draws one at random. */
export type PlanOf = Plan | ((random: Random) => Plan);
