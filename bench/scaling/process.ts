/**
 * A process of `npm run scaling`: a worker, or one that computes its share of the pages without the
 * database.
 */
import { type Database, open, type Worker } from "percolatordb";
import { serve } from "../harness/child.js";
import { withFolder } from "../harness/program.js";
import { measureUse, type Use } from "../harness/usage.js";
import { firstPages, openSources } from "../webindex/sources.js";
import { MinHash, pages, signatureOf } from "./minhash.js";
import { pipelineOf, type Work } from "./pipelines.js";

export interface Opening extends Work {
  readonly location: string;
  /** The index of this process, from 0. */
  readonly number: number;
  readonly processes: number;
  readonly concurrency: number;
  readonly sources: readonly string[];
  /** The most pages that are measured. */
  readonly pages: number;
}

/**
 * The most pages that each process handles before the measurement, in a separate database, so that its
 * code is compiled.
 */
const warmUpPages = 600;

type PageOf = readonly [url: string, contents: Uint8Array];

let db: Database;
let worker: Worker | undefined;
let share: readonly PageOf[] | undefined;
let hash: MinHash | undefined;

serve({
  async open(opening: Opening) {
    const { pipeline, functions, location, number, processes, concurrency, sources } = opening;
    const warmedUp = Math.min(warmUpPages, opening.pages);
    const { tables, observers, load } = pipelineOf(opening);
    if (pipeline === "compute") hash = new MinHash(functions!);
    await withFolder("warm-up", async (folder) => {
      await using warm = await open(folder, { tables, observers, collectEveryMs: 0 });
      await load(warm, firstPages((await openSources(sources))[0]!, warmedUp));
      if (pipeline === "compute") compute(await readShare(warm, 0, 1));
      else await warm.drain();
    });
    db = await open(location, { tables, observers, collectEveryMs: 0 });
    if (pipeline === "compute") share = await readShare(db, number, processes);
    else startWorker = () => db.work({ concurrency });
  },
  /** Works until nothing is due, in this or another process. */
  async work(): Promise<{ readonly use: Use }> {
    const end = await measureUse(db);
    if (share !== undefined) compute(share);
    else {
      worker = startWorker();
      await worker.idle();
    }
    return { use: await end() };
  },
  async close() {
    await worker?.stop();
    await db.close();
  },
});

let startWorker: () => Worker;

async function readShare(from: Database, number: number, of: number): Promise<readonly PageOf[]> {
  const found: PageOf[] = [];
  let index = 0;
  await using view = await from.snapshot();
  for await (const { row, value } of view.scan(pages.contents))
    if (index++ % of === number) found.push([row, value]);
  return found;
}

function compute(some: readonly PageOf[]): void {
  for (const [url, contents] of some) signatureOf(hash!, contents, url);
}
