/**
 * A process of a history run. Its logical clients run transactions, and write the beginning and the
 * outcome of each into the journal. It reads its orders as one line of JSON and prints `started`.
 *
 * - For `rest` it finishes the running transactions.
 * - For `read` it reads all keys.
 * - For `check` it prints each error in the derived data and in the store as `problem TEXT`.
 *
 * It prints `done` after each. On SIGTERM it shuts down cleanly.
 */
import { createInterface } from "node:readline";
import { open } from "percolatordb";
import { times } from "../cluster/members.js";
import { locationOf } from "../cluster/places.js";
import type { ChildOrders } from "./child-orders.js";
import { Clients } from "./clients.js";
import { derived, findUnsound, observers } from "./derived.js";
import { Journal } from "./journal.js";
import { lists, registers } from "./transactions.js";

const say = (line: string) => process.stdout.write(`${line}\n`);

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(3);
}
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const first = await lines.next();
// The input has ended without orders, because this process was not needed.
if (first.done === true) process.exit(0);
const orders = JSON.parse(first.value) as ChildOrders;
const db = await open(await locationOf(orders.connection, times.deadlineMs), {
  tables: [lists, registers, derived],
  observers,
  lockTtlMs: times.lockTtlMs,
  commit: orders.commit,
});
db.work({ concurrency: 2 });
const clients = new Clients(db, new Journal(orders.journal, BigInt(orders.originNs)), orders);

let isOver = false;
const running = clients.run(() => isOver);

async function obey(): Promise<void> {
  for (;;) {
    const { value, done } = await lines.next();
    // The process that started this one has ended.
    if (done === true) return;
    isOver = true;
    await running;
    if (value === "read") await clients.readAll();
    if (value === "check") for (const problem of await findUnsound(db)) say(`problem ${problem}`);
    say(`done ${value}`);
  }
}

const ending = new Promise<void>((resolve) => {
  process.once("SIGTERM", resolve);
  void obey().then(resolve, fail);
});
say("started");
await ending;
isOver = true;
await running;
await db.close();
process.exit(0);
