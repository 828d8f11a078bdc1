/** The process that is measured: `child.ts FOLDER OPTIONS`, its options as JSON. Sends what it found to its parent. */
import { setTimeout as pause } from "node:timers/promises";
import { open } from "percolatordb";
import { endWithParent } from "../../test/support/end-with-parent.js";
import { Load, observers, tables } from "./load.js";
import type { MemoryOptions } from "./options.js";
import { type MemorySample, memoryNow } from "./sample.js";

/** What the child found. */
export interface MemoryReport {
  readonly samples: readonly MemorySample[];
  /** Collections that ran while it was sampled. */
  readonly collections: number;
  /** Rows that had not their last update, or what derives from it, in the end. */
  readonly wrong: number;
  /** That `check` found. */
  readonly problems: number;
}

async function run(folder: string, options: MemoryOptions): Promise<MemoryReport> {
  const { retention, seconds, warmUp } = options;
  const retentionMs = retention * 1_000;
  await using db = await open(folder, { tables, observers, retentionMs, collectEveryMs: retentionMs });
  const load = new Load(db, options);
  const worker = db.work();
  load.start();
  await pause(warmUp * 1_000);
  const samples: MemorySample[] = [];
  let collections = 0;
  db.on("collect", () => {
    collections++;
  });
  const [began, before] = [performance.now(), load.updates];
  for (let second = 1; second <= seconds; second++) {
    await pause(Math.max(0, began + second * 1_000 - performance.now()));
    samples.push(memoryNow((performance.now() - began) / 1_000, load.updates - before));
  }
  await load.stop();
  await db.idle();
  await worker.stop();
  const problems = await db.check();
  return { samples, collections, wrong: await load.wrong(), problems: problems.length };
}

endWithParent();

const [folder, options] = process.argv.slice(2) as [string, string];
const report = await run(folder, JSON.parse(options) as MemoryOptions);
process.send?.(report, () => process.disconnect());
