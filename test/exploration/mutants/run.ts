import { join } from "node:path";
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
  const built = await build(mutant.name, mutant);
  try {
    const load = (...path: string[]) => import(pathToFileURL(join(built.path, ...path)).href);
    const library = (await load("src", "testing", "exploration", "index.js")) as { explore: typeof explore };
    const all = (await load("test", "exploration", "programs", "index.js")) as typeof programs;
    const program = all[mutant.killedBy];
    const faults = mutant.faults ?? program.faults;
    const order = mutant.order ?? "breadth-first";
    return await library.explore({ ...program, faults }, { order, maxStates });
  } finally {
    await built.remove();
  }
}
