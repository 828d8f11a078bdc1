/**
 * A process that stops itself during a write, while it holds LMDB's write lock: `lock-holder.ts
 * FOLDER`. It prints `open`. For a line of input it writes, and prints `held` just before it stops.
 * It prints `done` after it was resumed and its write is done.
 */
import { writeSync } from "node:fs";
import { openLmdbStore } from "percolatordb/lmdb";
import { systemEnvironment } from "../../src/environment/index.js";

let isArmed = false;
const environment = {
  ...systemEnvironment,
  // The write queue reads the clock when it has got the lock.
  monotonic: () => {
    if (isArmed && new Error().stack!.includes("#enter")) {
      isArmed = false;
      writeSync(1, "held\n");
      process.kill(process.pid, "SIGSTOP");
    }
    return systemEnvironment.monotonic();
  },
};
const store = await openLmdbStore(process.argv[2]!, { environment });
process.stdin.once("data", async () => {
  isArmed = true;
  await store.atomic!.next();
  writeSync(1, "done\n");
});
writeSync(1, "open\n");
