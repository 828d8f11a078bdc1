import { openWithHooks } from "percolatordb/testing";
/**
 * A process that is to be killed or stopped. Says `ready` when it is loaded, reads one line of JSON, does as it says until its
 * time has come, and writes into the journal what it was told committed. One that stays says `done` then, and waits to be ended.
 * On SIGTERM it ends in good order.
 */

import { once } from "node:events";
import { openSync, writeSync } from "node:fs";
import { type Database, PercolatorError } from "percolatordb";
import { type Generation, observersOf, tables, versioned } from "./app.js";
import { type Failpoint, GhostHooks, StrikingHooks } from "./failpoints.js";
import { operation, perform } from "./operations.js";
import { Random } from "./random.js";

/** What it does beside writing. */
export type Role = "load" | "observe" | "collect" | "backfill";

export interface VictimOrders {
  readonly folder: string;
  readonly journal: string;
  readonly writer: string;
  readonly role: Role;
  readonly commit: "auto" | "two-phase";
  readonly generation: Generation;
  readonly failpoint: Failpoint | undefined;
  /** Operations under way at a time. */
  readonly concurrency: number;
  /** With transactions beside that stop half-way, for others to meet. Two phases only. */
  readonly haunted: boolean;
  readonly lockTtlMs: number;
  readonly durability: "full" | "none";
  /** Operations after which it stops writing. */
  readonly most: number;
  /** Does not end by itself when it has done them: it is there for whatever comes. */
  readonly stays: boolean;
}

process.stdout.write("ready\n");
const [line] = (await once(process.stdin, "data")) as [Buffer];
const orders = JSON.parse(line.toString()) as VictimOrders;
const journal = openSync(orders.journal, "a");
const random = new Random(orders.writer);
const striking = new StrikingHooks(orders.failpoint, random, orders.commit === "two-phase");
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
// Whoever would end it has ended.
process.stdin.once("end", () => stopping.abort());

const common = {
  tables: Object.values(tables),
  commit: orders.commit,
  durability: orders.durability,
  collectEveryMs: 0,
  retentionMs: 50,
  lockTtlMs: orders.lockTtlMs,
} as const;
const db = await openWithHooks(orders.folder, {
  ...common,
  observers: observersOf(orders.generation),
  hooks: striking,
});
process.stdout.write("started\n");
let next = 0;

const isOver = () => stopping.signal.aborted || next >= orders.most;

/** Does one operation, and notes it once it was told committed. What fails by rights is left undone. */
async function operate(on: Database, label: string): Promise<void> {
  const number = next++;
  const task = operation(orders.writer, number);
  try {
    await on.transact((tx) => perform(tx, task), { isolation: task.isolation, label });
    writeSync(journal, `${task.name}\n`);
  } catch (error) {
    const expected = ["CONFLICT", "COMMIT_OUTCOME_UNKNOWN", "STALE_SNAPSHOT"];
    if (!(error instanceof PercolatorError && expected.includes(error.code))) throw error;
  }
}

async function write(): Promise<void> {
  while (!isOver()) await operate(db, "operation");
}

async function collect(): Promise<void> {
  while (!isOver()) {
    await db.collect({ retentionMs: random.below(30) });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function backfill(): Promise<void> {
  for (const observer of versioned(orders.generation)) {
    await db.backfill(observer, { signal: stopping.signal }).catch((error: unknown) => {
      if (!stopping.signal.aborted) throw error;
    });
  }
}

/** Never ends by itself: its transactions do not. */
async function haunt(): Promise<void> {
  const hooks = new GhostHooks(striking, orders.lockTtlMs, random.below(4));
  const ghost = await openWithHooks(orders.folder, { ...common, hooks });
  while (!isOver()) {
    void operate(ghost, "ghost").catch(fail);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

function fail(error: unknown): never {
  process.stderr.write(`${orders.writer}: ${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(3);
}

try {
  const worker = orders.role === "load" ? undefined : db.work({ concurrency: 16 });
  const writers = Array.from({ length: orders.concurrency }, () => write());
  if (orders.role === "collect") writers.push(collect());
  if (orders.role === "backfill") writers.push(backfill());
  if (orders.haunted) void haunt().catch(fail);
  await Promise.all(writers);
  if (orders.stays) {
    process.stdout.write("done\n");
    if (!stopping.signal.aborted) await once(stopping.signal, "abort");
  }
  await worker?.stop();
  await db.close();
  process.exit(0);
} catch (error) {
  fail(error);
}
