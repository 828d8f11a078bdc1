import { SeededRandom } from "../world/index.js";
import { drawPlan } from "./plan/plan.js";
import { SimulatedFolder } from "./process/folder.js";
import { Run } from "./run.js";
import type { RunOptions, RunResult } from "./run-result.js";

/**
 * Draws the plan of one run and plays the run. For a run on LMDB, creates a folder first and
 * removes it afterwards.
 */
export async function playRun(options: RunOptions): Promise<RunResult> {
  const random = new SeededRandom(`${options.seed}/${options.number}`);
  const workload = options.workload(random.fork("workload"));
  const plan = drawPlan(random.fork("plan"), {
    clients: workload.clients.length,
    hasObservers: (workload.observers?.length ?? 0) > 0,
    stores: options.stores,
    faults: options.faults,
    length: options.length,
  });
  const folder = plan.store === "lmdb" ? await SimulatedFolder.make(plan.durability) : undefined;
  try {
    return await new Run(options, random, workload, plan, folder).run();
  } finally {
    await folder?.close();
  }
}
