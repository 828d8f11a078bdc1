import { StoreError } from "../../errors/index.js";
import type { ExploredProcess } from "./process.js";

/** Rounds after which what was to be healed has not been. */
const maxRounds = 100;

/**
 * Takes every lock away by what stands at its primary, and runs observers until no hint is left. `wait` lets enough time
 * pass for whatever waits. Rejects where it does not come to an end.
 */
export async function heal(process: ExploredProcess, wait: () => void): Promise<void> {
  const { db } = process;
  for (let round = 0; round < maxRounds; round++) {
    let found = 0;
    for await (const lock of db.locks()) {
      found++;
      await db.resolve(lock);
    }
    found += await process.work();
    await process.context.background.settled();
    if (found === 0 && !process.hintsStand()) return;
    wait();
  }
  throw new StoreError(`After ${maxRounds} rounds of healing locks or hints were left.`);
}
