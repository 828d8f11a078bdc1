import { Random } from "../crash/random.js";
import { type ClusterOptions, ProcessCluster } from "./cluster.js";
import { type Fault, strike } from "./faults.js";

/** The commits of each member between two faults. */
const between = 5;

/** A round that failed. */
export class FailedRound extends Error {}

export type FaultOf = Fault | ((random: Random) => Fault);

export interface RoundsOptions extends ClusterOptions {
  /** Called after each verified round. */
  readonly onRound?: ((round: number, fault: Fault, operations: number, seconds: number) => void) | undefined;
}

/**
 * Plays rounds on one cluster. In each round there is a fault, all dead processes are replaced,
 * every process must continue, and everything stored is verified. The seed determines everything
 * that is drawn, and a failure prints it. The timing of the processes varies.
 */
export async function playRounds(
  seed: string,
  faults: Iterable<FaultOf>,
  options: RoundsOptions,
): Promise<number> {
  await using cluster = await ProcessCluster.start(options);
  let operations = 0;
  let round = 0;
  for (const faultOf of faults) {
    const random = new Random(`${seed}:${round}`);
    const fault = typeof faultOf === "function" ? faultOf(random) : faultOf;
    const began = performance.now();
    try {
      await cluster.goesOn(between);
      await strike(cluster, fault, random);
      await cluster.replace();
      await cluster.goesOn(between);
      operations = await cluster.verify();
    } catch (error) {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const said = [...cluster.members, ...(cluster.place.coordinators ?? [])]
        .map(({ process }) => process.errors)
        .join("");
      throw new FailedRound(`Seed ${seed}, round ${round}, ${JSON.stringify(fault)}: ${what}\n${said}`);
    }
    options.onRound?.(round, fault, operations, (performance.now() - began) / 1_000);
    round++;
  }
  await cluster.end();
  return operations;
}
