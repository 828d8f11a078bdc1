/**
 * A process that writes to a database and runs observers. It reads its orders as one line
 * of JSON and prints `started`. For each line `rest` it finishes its writes and prints `resting`.
 * For each line `go` it continues. On SIGTERM it shuts down cleanly.
 */
import { openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { open, PercolatorError } from "percolatordb";
import { operation, perform } from "../crash/operations.js";
import { observers, tables } from "./app.js";
import type { ChildOrders } from "./child-orders.js";
import { locationOf } from "./places.js";

/**
 * The codes of the errors with which an operation may fail during a fault. Any other error ends
 * this process.
 */
const byRights = [
  "CONFLICT",
  "COMMIT_OUTCOME_UNKNOWN",
  "STALE_SNAPSHOT",
  "STORE",
  "ORACLE_UNAVAILABLE",
  "TIMEOUT",
];
const afterFailureMs = 30;

const say = (line: string) => process.stdout.write(`${line}\n`);
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const orders = JSON.parse((await lines.next()).value as string) as ChildOrders;
const journal = openSync(orders.journal, "a");

function fail(error: unknown): never {
  process.stderr.write(`${orders.writer}: ${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(3);
}
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

const { connection, commit, deadlineMs, lockTtlMs, coordinator } = orders;
const db = await open(await locationOf(connection, deadlineMs), {
  tables: Object.values(tables),
  observers,
  collectEveryMs: 0,
  lockTtlMs,
  commit,
  coordinator,
});

let isEnding = false;
let isResting = false;
let underWay = 0;
let next = 0;

async function operate(): Promise<void> {
  const task = operation(orders.writer, next++);
  try {
    await db.transact((tx) => perform(tx, task), { isolation: task.isolation, label: task.name });
    writeSync(journal, `${task.name}\n`);
  } catch (error) {
    if (!(error instanceof PercolatorError && byRights.includes(error.code))) throw error;
    say(`failed ${error.code}`);
    await pause(afterFailureMs);
  }
}

async function write(): Promise<void> {
  while (!isEnding) {
    if (isResting) {
      await pause(5);
      continue;
    }
    underWay++;
    await operate();
    underWay--;
  }
}

async function listen(): Promise<void> {
  for (;;) {
    const { value, done } = await lines.next();
    if (done === true) return;
    isResting = value === "rest";
    if (!isResting) continue;
    while (underWay > 0) await pause(2);
    say("resting");
  }
}

const worker = orders.working === 0 ? undefined : db.work({ concurrency: orders.working });
const writers = Array.from({ length: orders.writing }, () => write());
const stopping = new Promise<void>((resolve) => {
  process.once("SIGTERM", resolve);
  void listen().then(resolve, fail);
});
say("started");
await stopping;
isEnding = true;
await Promise.all(writers);
await worker?.stop();
await db.close();
process.exit(0);
