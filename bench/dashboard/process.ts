/** The pipeline that `npm run frames` shows: documents under a steady load, and their dashboard. */
import { open } from "percolatordb";
import { serveDashboard } from "percolatordb/dashboard";
import { serve } from "../harness/child.js";
import { documents, observersOf } from "../load/documents.js";
import { Load } from "../load/load.js";

export interface Opening {
  /** Updates a second. */
  readonly rate: number;
  /** The folder of the dashboard's built pages. */
  readonly pages: string;
}

let close: () => unknown = () => undefined;

serve({
  /** Resolves to the dashboard's address. */
  async open({ rate, pages }: Opening): Promise<string> {
    const db = await open("memory:", { tables: [documents], observers: observersOf(), collectEveryMs: 0 });
    const worker = db.work({ concurrency: 64 });
    const load = new Load(db, { rows: 5_000, bytes: 20, rate });
    load.start();
    const dashboard = await serveDashboard(db, { location: "memory:", pages });
    close = async () => {
      await dashboard.close();
      await load.stop();
      await worker.stop();
      await db.close();
    };
    return dashboard.url;
  },
  close: () => close(),
});
