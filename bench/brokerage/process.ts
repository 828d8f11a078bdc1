/** One process of this measurement, its parent's word by its messages: `process.ts LOCATION NUMBER PROCESSES CLIENTS CONCURRENCY AHEAD`. */
import { open } from "percolatordb";
import { endWithParent } from "../../test/support/end-with-parent.js";
import { readUsage, type Usage, usedBetween } from "../scaling/usage.js";
import { Market } from "./market.js";
import type { Answer, Order } from "./messages.js";
import { Pace } from "./pace.js";
import { observers, settle, tables } from "./tables.js";

endWithParent();

const tellMs = 10;

const [location, ...numbers] = process.argv.slice(2);
const [number, processes, clients, concurrency, maxAhead] = numbers.map(Number) as [
  number,
  number,
  number,
  number,
  number,
];
const db = await open(location!, { tables, observers, collectEveryMs: 0 });
const worker = db.work({ concurrency });
const pace = new Pace(maxAhead);
const market = new Market(db, pace);
db.on("run", ({ observer, outcome }) => {
  if (observer === settle.name && outcome === "committed") pace.settled();
});
let told = pace.progress;
const telling = setInterval(() => {
  if (told === pace.progress) return;
  told = pace.progress;
  say({ type: "progress", progress: told });
}, tellMs);
let began: { readonly usage: Usage; readonly counts: ReturnType<typeof count> } | undefined;
let customers = 0;

function say(answer: Answer): void {
  process.send?.(answer);
}

function count() {
  const { commits, conflicts, requests, observers: seen } = db.metrics;
  const runs = Object.values(seen).reduce((sum, each) => sum + each.runs.committed, 0);
  return { runs, commits, conflicts, requests };
}

/** Every so manieth transaction is this process's, so that it is the same work for any number of processes. */
async function run(first: number, amount: number): Promise<void> {
  began = { usage: await readUsage(db), counts: count() };
  customers = 0;
  let next = first + number;
  const client = async () => {
    while (next < first + amount) {
      const mine = next;
      next += processes;
      await market.act(mine);
      customers++;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  say({ type: "placed" });
}

async function finish(): Promise<void> {
  await worker.idle();
  const { usage, counts } = began!;
  const now = count();
  const requests = Object.fromEntries(
    Object.entries(now.requests).map(([kind, asked]) => [
      kind,
      asked - counts.requests[kind as keyof typeof counts.requests],
    ]),
  ) as unknown as typeof counts.requests;
  say({
    type: "finished",
    done: {
      customers,
      runs: now.runs - counts.runs,
      commits: now.commits - counts.commits,
      conflicts: now.conflicts - counts.conflicts,
      requests,
      use: usedBetween(usage, await readUsage(db)),
    },
  });
}

async function end(): Promise<void> {
  clearInterval(telling);
  await worker.stop();
  await db.close();
  process.send?.({ type: "ended" } satisfies Answer, () => process.disconnect());
}

async function obey(order: Order): Promise<void> {
  if (order.type === "run") await run(order.first, order.count);
  else if (order.type === "others") pace.learn(order.progress);
  else if (order.type === "finish") await finish();
  else await end();
}

process.on("message", (order: Order) => void obey(order));
say({ type: "ready" });
