import { type Database, open } from "percolatordb";
import { openLmdbStore } from "percolatordb/lmdb";
import { allColumns } from "../../src/store/index.js";
import { hintTable } from "../../src/transaction/index.js";
import { patienceMs } from "../support/waiting.js";
import { type Generation, observersOf, tables, versioned } from "./app.js";
import { compare, compareRuns, Difference, doneIn, twinOf } from "./twin.js";

export interface Verification {
  readonly folder: string;
  readonly generation: Generation;
  /** Operations whose commit was confirmed to a process. */
  readonly told: Iterable<string>;
  readonly commit: "auto" | "two-phase";
}

/**
 * Opens the database that crashed processes left and runs all due observers. Throws unless `check`
 * is clean before and after, every confirmed operation is there, every table equals the twin's, and
 * no lock or hint is left.
 */
export async function verify(verification: Verification): Promise<void> {
  const { folder, generation, commit } = verification;
  await using db = await openForCheck(folder, generation, commit);
  await sound(db, "on opening");
  for (const observer of versioned(generation)) {
    await db.backfill(observer, { signal: AbortSignal.timeout(patienceMs) });
  }
  await drain(db);
  await sound(db, "after the drain");
  for await (const parked of db.parked()) throw new Difference(`Parked: ${JSON.stringify(parked)}`);
  const done = await doneIn(db);
  const standing = new Set(done);
  const lost = [...verification.told].filter((name) => !standing.has(name));
  if (lost.length > 0) throw new Difference(`Told committed, and not there: ${lost.join(", ")}`);
  const twin = twinOf(done);
  await compare(db, twin, generation.late);
  await compareRuns(db, done, generation.version);
  await db.collect({ retentionMs: 0 });
  for await (const lock of db.locks()) throw new Difference(`A lock was left: ${JSON.stringify(lock)}`);
  await noHints(folder);
  await sound(db, "after collection");
  await compare(db, twin, generation.late);
}

/** Drains. However long that takes on a busy machine, some change must be handled within {@link patienceMs}. */
async function drain(db: Database): Promise<void> {
  let [before, since] = [-1, performance.now()];
  await db.drain({
    onProgress() {
      const handled = Object.values(db.metrics.observers).reduce((sum, { changes }) => sum + changes, 0);
      if (handled > before) [before, since] = [handled, performance.now()];
      else if (performance.now() - since > patienceMs) throw new Difference("No change was handled any more");
    },
  });
}

export function openForCheck(
  folder: string,
  generation: Generation,
  commit: "auto" | "two-phase",
): Promise<Database> {
  return open(folder, {
    tables: Object.values(tables),
    observers: observersOf(generation),
    commit,
    collectEveryMs: 0,
    lockTtlMs: 300,
  });
}

/** Throws if `check` finds a problem. */
export async function sound(db: Database, when: string): Promise<void> {
  const problems = await db.check();
  if (problems.length > 0) throw new Difference(`Check ${when}: ${JSON.stringify(problems.slice(0, 3))}`);
}

/** Throws if the store has a hint. This includes hints without a change to handle. */
async function noHints(folder: string): Promise<void> {
  const store = await openLmdbStore(folder);
  try {
    const page = await store.readRaw({ table: hintTable, columns: allColumns, parts: ["write"] });
    if (page.rows.length > 0) throw new Difference(`${page.rows.length} hints were left.`);
  } finally {
    await store.close();
  }
}
