import { pathToFileURL } from "node:url";
import type { ExploreReport, explore } from "../../../src/testing/exploration/index.js";
import type * as programs from "../programs/index.js";
import { build } from "./build.js";
import type { Mutant } from "./mutant.js";

/**
 * Explores the program that must find a mutant, in a build with the mutant. Looks for the shortest
 * trace to a violation, unless the mutant says otherwise.
 */
export async function exploreMutant(mutant: Mutant, maxStates = 300_000): Promise<ExploreReport> {
  const built = await build(mutant);
  try {
    const module = (await import(pathToFileURL(built.file).href)) as {
      readonly explore: typeof explore;
      readonly programs: typeof programs;
    };
    const program = module.programs[mutant.killedBy];
    const faults = mutant.faults ?? program.faults;
    const order = mutant.order ?? "breadth-first";
    return await module.explore({ ...program, faults }, { order, maxStates });
  } finally {
    await built.remove();
  }
}
