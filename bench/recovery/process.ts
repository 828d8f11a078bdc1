/** A worker of `npm run recovery`. Reports regularly how many runs it has committed. */
import { type Database, open, type Worker } from "percolatordb";
import { serve } from "../harness/child.js";
import { documents, observersOf } from "../load/documents.js";

export interface Opening {
  readonly location: string;
  readonly concurrency: number;
  readonly workMs: number;
}

let db: Database;
let worker: Worker;
let telling: NodeJS.Timeout;
let committed = 0;

const tell = serve({
  async open({ location, concurrency, workMs }: Opening) {
    db = await open(location, { tables: [documents], observers: observersOf(workMs), collectEveryMs: 0 });
    db.on("run", ({ outcome }) => {
      if (outcome === "committed") committed++;
    });
    worker = db.work({ concurrency });
    telling = setInterval(() => tell(committed), 100);
  },
  async close() {
    await worker.stop();
    clearInterval(telling);
    tell(committed);
    await db.close();
  },
});
