/** A worker of the web index on Bigtable, which counts its requests. */
import { type Database, open, type RowStore, type Worker } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { observers } from "../../examples/webindex/observers/index.js";
import { tables } from "../../examples/webindex/tables.js";
import { serve } from "../harness/child.js";
import { countRequests } from "./counts.js";

export interface Opening {
  readonly location: string;
  readonly concurrency: number;
}

let store: RowStore;
let db: Database;
let worker: Worker;

serve({
  async open({ location, concurrency }: Opening) {
    store = await openBigtableStore(location);
    db = await open(store, { tables, observers });
    worker = db.work({ concurrency });
  },
  count: () => countRequests(db),
  async close() {
    await worker.stop();
    await db.close();
    await store.close();
  },
});
