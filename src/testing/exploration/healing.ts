import { StoreError } from "../../errors/index.js";
import type { ExploredProcess } from "./process.js";

/** Rounds after which healing has failed. */
const maxRounds = 100;

/**
 * Resolves every lock according to its primary lock, and runs observers until no hint is left.
 * `wait` lets time pass, so that every wait ends. Rejects if locks or hints are left after the last
 * round.
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
    if (found === 0 && !process.hasHints()) return;
    wait();
  }
  throw new StoreError(`Locks or hints were left after ${maxRounds} rounds of healing.`);
}
