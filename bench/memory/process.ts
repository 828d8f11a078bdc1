/** The process whose memory is measured. It keeps a database under constant updates. */
import { readFileSync } from "node:fs";
import { open } from "percolatordb";
import { serve } from "../harness/child.js";
import { pause } from "../harness/pause.js";
import { documents, observersOf } from "../load/documents.js";
import { Load } from "../load/load.js";
import type { Found, MemorySample } from "./figure.js";

export interface MemoryTask {
  readonly folder: string;
  readonly seconds: number;
  readonly warmUp: number;
  readonly rows: number;
  readonly bytes: number;
  readonly rate: number;
  readonly retention: number;
}

serve({
  async measure({ folder, seconds, warmUp, retention, ...load }: MemoryTask): Promise<Found> {
    const retentionMs = retention * 1_000;
    const observers = observersOf();
    await using db = await open(folder, {
      tables: [documents],
      observers,
      retentionMs,
      collectEveryMs: retentionMs,
    });
    const updates = new Load(db, load);
    const worker = db.work();
    updates.start();
    await pause(warmUp * 1_000);
    const samples: MemorySample[] = [];
    let collections = 0;
    db.on("collect", () => {
      collections++;
    });
    const [began, before] = [performance.now(), updates.updates];
    for (let second = 1; second <= seconds; second++) {
      await pause(Math.max(0, began + second * 1_000 - performance.now()));
      const { rss, heapUsed, external } = process.memoryUsage();
      samples.push({
        at: (performance.now() - began) / 1_000,
        resident: rss,
        anonymous: anonymousBytes(),
        heap: heapUsed,
        external,
        updates: updates.updates - before,
      });
    }
    await updates.stop();
    await db.idle();
    await worker.stop();
    const problems = await db.check();
    return { samples, collections, wrong: (await updates.wrong()).length, problems: problems.length };
  },
});

/** From Linux. Undefined on other systems. */
function anonymousBytes(): number | undefined {
  try {
    const found = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "latin1"));
    return found === null ? undefined : Number(found[1]) * 1_024;
  } catch {
    return undefined;
  }
}
