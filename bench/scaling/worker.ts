/** A worker of this measurement, with {@link WorkerOptions} as its argument and its parent's word by its messages. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, open, type Worker } from "percolatordb";
import { endWithParent } from "../../test/support/end-with-parent.js";
import type { Answer, Order, WorkerOptions } from "./messages.js";
import { MinHash, pages, signatureOf } from "./minhash.js";
import { pipelineOf } from "./pipelines.js";
import { firstPages, sourceAt } from "./source.js";
import { readUsage, usedBetween } from "./usage.js";

endWithParent();

/** Before it is timed each process works on so many pages in a database of its own, so that its code is compiled. */
const warmUpPages = 600;

const options = JSON.parse(process.argv[2]!) as WorkerOptions;
const { pipeline, functions, location, number, processes, concurrency, source } = options;
const { tables, observers, load } = pipelineOf(options);

function say(answer: Answer): void {
  process.send?.(answer);
}

async function warmUp(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "percolatordb-warm-up-"));
  try {
    await using db = await open(folder, { tables, observers, collectEveryMs: 0 });
    await load(db, firstPages(await sourceAt(source), warmUpPages));
    if (pipeline === "compute") compute(await readShare(db, 0, 1));
    else await db.drain();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type PageOf = readonly [url: string, contents: Uint8Array];

async function readShare(db: Database, from: number, of: number): Promise<readonly PageOf[]> {
  const share: PageOf[] = [];
  let index = 0;
  await using view = await db.snapshot();
  for await (const { row, value } of view.scan(pages.contents))
    if (index++ % of === from) share.push([row, value]);
  return share;
}

function compute(share: readonly PageOf[]): number {
  const hash = new MinHash(functions!);
  for (const [url, contents] of share) signatureOf(hash, contents, url);
  return share.length;
}

await warmUp();
const db = await open(location, { tables, observers, collectEveryMs: 0 });
const share = pipeline === "compute" ? await readShare(db, number, processes) : [];
let worker: Worker | undefined;

async function work(): Promise<void> {
  const before = await readUsage(db);
  let runs: number;
  if (pipeline === "compute") {
    runs = compute(share);
  } else {
    worker = db.work({ concurrency });
    await worker.idle();
    runs = countRuns("committed");
  }
  const use = usedBetween(before, await readUsage(db));
  say({ type: "done", runs, conflicts: countRuns("conflict"), use });
}

function countRuns(outcome: "committed" | "conflict"): number {
  return Object.values(db.metrics.observers).reduce((sum, { runs }) => sum + runs[outcome], 0);
}

async function end(): Promise<void> {
  await worker?.stop();
  await db.close();
  process.send?.({ type: "ended" } satisfies Answer, () => process.disconnect());
}

process.on("message", (order: Order) => void (order === "go" ? work() : end()));
say({ type: "ready" });
