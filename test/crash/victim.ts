import { openWithHooks } from "percolatordb/testing";
/**
 * A process that will be killed or stopped. It prints `ready` when it is loaded, reads one line of
 * JSON with its orders, and carries them out. It writes every confirmed operation into its journal.
 * If its orders say that it stays, it prints `done` and waits to be ended. On SIGTERM it shuts down
 * cleanly.
 */

import { once } from "node:events";
import { openSync, writeSync } from "node:fs";
import { type Database, PercolatorError } from "percolatordb";
import { type Generation, observersOf, tables, versioned } from "./app.js";
import { type Failpoint, GhostHooks, StrikingHooks } from "./failpoints.js";
import { operation, perform } from "./operations.js";
import { Random } from "./random.js";

/** What it does besides writing. */
export type Role = "load" | "observe" | "collect" | "backfill";

export interface VictimOrders {
  readonly folder: string;
  readonly journal: string;
  readonly writer: string;
  readonly role: Role;
  readonly commit: "auto" | "two-phase";
  readonly generation: Generation;
  readonly failpoint: Failpoint | undefined;
  /** The number of concurrent operations. */
  readonly concurrency: number;
  /**
   * Also runs transactions that stop half-way, for other transactions to meet. For two-phase
   * commits only.
   */
  readonly leavesLocks: boolean;
  readonly lockTtlMs: number;
  readonly durability: "full" | "none";
  /** The number of operations after which it stops writing. */
  readonly most: number;
  /** Does not end by itself when it has done its operations, but waits. */
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
// The process that started this one has ended.
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

/**
 * Performs one operation, and writes it into the journal after its commit was confirmed. Expected
 * failures are skipped.
 */
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

/** Never ends by itself, because its transactions do not end. */
async function leaveLocks(): Promise<void> {
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
  if (orders.leavesLocks) void leaveLocks().catch(fail);
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
