/** The other process of the case `postgres`: a worker that tells when its observer has committed. */
import { type Database, open, type Worker } from "percolatordb";
import { serve } from "../harness/child.js";
import { machineMs, observersTelling, type Told, tables } from "./postgres-delay.js";

let db: Database;
let worker: Worker;

const tell = serve({
  async work(location: string) {
    const observers = observersTelling((row) => tell({ row, at: machineMs() } satisfies Told));
    db = await open(location, { tables, observers });
    worker = db.work();
  },
  async close() {
    await worker.stop();
    await db.close();
  },
});
