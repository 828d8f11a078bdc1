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
  /** Operations of which a process was told that they committed. */
  readonly told: Iterable<string>;
  readonly commit: "auto" | "two-phase";
}

/**
 * Opens what crashed processes left, works off what is due, and throws where anything is not as it must be: `check` before
 * and after, everything told committed there, every table equal to the twin's, no lock and no hint left.
 */
export async function verify(verification: Verification): Promise<void> {
  const { folder, generation, commit } = verification;
  await using db = await openForCheck(folder, generation, commit);
  await sound(db, "on opening");
  for (const observer of versioned(generation)) {
    await db.backfill(observer, { signal: AbortSignal.timeout(patienceMs) });
  }
  await db.drain({ signal: AbortSignal.timeout(patienceMs) });
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

/** Throws where `check` finds anything. */
export async function sound(db: Database, when: string): Promise<void> {
  const problems = await db.check();
  if (problems.length > 0) throw new Difference(`Check ${when}: ${JSON.stringify(problems.slice(0, 3))}`);
}

/** Hints as the store has them, those that stand for nothing included. */
async function noHints(folder: string): Promise<void> {
  const store = await openLmdbStore(folder);
  try {
    const page = await store.readRaw({ table: hintTable, columns: allColumns, parts: ["write"] });
    if (page.rows.length > 0) throw new Difference(`${page.rows.length} hints were left.`);
  } finally {
    await store.close();
  }
}
