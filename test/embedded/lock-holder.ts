/**
 * A process that stops itself while it writes, with LMDB's write lock in its hand: `lock-holder.ts FOLDER`. Says `open`; for a line, writes and
 * says `held` just before it stops; says `done` when somebody has continued it and its write is done.
 */
import { writeSync } from "node:fs";
import { openLmdbStore } from "percolatordb/lmdb";
import { systemEnvironment } from "../../src/environment/index.js";

let isArmed = false;
const environment = {
  ...systemEnvironment,
  // The write queue looks at the clock when it has got the lock.
  monotonic: () => {
    if (isArmed && new Error().stack!.includes("queue.ts")) {
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
