/** One process of this measurement, its parent's word by its messages: `process.ts LOCATION NUMBER CLIENTS CONCURRENCY`. */
import { open } from "percolatordb";
import { Market } from "./market.js";
import { observers, tables } from "./tables.js";

const [location, ...numbers] = process.argv.slice(2);
const [number, clients, concurrency] = numbers.map(Number) as [number, number, number];
const db = await open(location!, { tables, observers, collectEveryMs: 0 });
const worker = db.work({ concurrency });
const market = new Market(db, number);
const ending = new AbortController();
let running: Promise<unknown> | undefined;

const counts = () => {
  const { commits, conflicts, requests, observers: seen } = db.metrics;
  const runs = Object.values(seen).reduce((sum, each) => sum + each.runs.committed, 0);
  return { ...market.done, runs, commits, conflicts, requests };
};

async function obey(message: unknown): Promise<void> {
  if (message === "begin")
    running = Promise.all(Array.from({ length: clients }, () => market.run(ending.signal)));
  if (message === "counts") process.send?.(counts());
  if (message !== "end") return;
  ending.abort();
  await running;
  await worker.idle();
  await worker.stop();
  await db.close();
  process.send?.("ended", () => process.disconnect());
}

process.on("message", (message) => void obey(message));
process.send?.("ready");
