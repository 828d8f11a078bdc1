import { Random } from "../crash/random.js";
import { type Blow, strike } from "./blows.js";
import { ProcessCluster } from "./cluster.js";

/** Commits of each member between two blows. */
const between = 5;

/** A round that failed. */
export class FailedRound extends Error {}

export type BlowOf = Blow | ((random: Random) => Blow);

export interface RoundsOptions {
  readonly members: number;
  readonly coordinators: number;
  /** Told of each round that was verified. */
  readonly onRound?: ((round: number, blow: Blow, operations: number, seconds: number) => void) | undefined;
}

/**
 * Plays rounds on one cluster: a blow, then all that are dead are replaced, everybody must go on, and what is stored is verified.
 * What is drawn follows from the seed, which a failure tells; what processes do meanwhile does not.
 */
export async function playRounds(
  seed: string,
  blows: Iterable<BlowOf>,
  options: RoundsOptions,
): Promise<number> {
  await using cluster = await ProcessCluster.start(options);
  let operations = 0;
  let round = 0;
  for (const blowOf of blows) {
    const random = new Random(`${seed}:${round}`);
    const blow = typeof blowOf === "function" ? blowOf(random) : blowOf;
    const began = performance.now();
    try {
      await cluster.goesOn(between);
      await strike(cluster, blow, random);
      await cluster.replace();
      await cluster.goesOn(between);
      operations = await cluster.verify();
    } catch (error) {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const said = [...cluster.members, ...cluster.coordinators]
        .map(({ process }) => process.errors)
        .join("");
      throw new FailedRound(`Seed ${seed}, round ${round}, ${JSON.stringify(blow)}: ${what}\n${said}`);
    }
    options.onRound?.(round, blow, operations, (performance.now() - began) / 1_000);
    round++;
  }
  await cluster.end();
  return operations;
}
