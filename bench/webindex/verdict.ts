import type { Database, Snapshot } from "percolatordb";
import { compareWithTwin } from "../../examples/webindex/twin/compare.js";

/** The comparison of an index with its batch twin. */
export interface Verdict {
  readonly cells: number;
  /** Cells that differ, are missing or are superfluous, and other problems. */
  readonly wrong: number;
  /** The first of them, one sentence each. */
  readonly problems: readonly string[];
}

/** Compares every table with the batch twin. */
export async function verdictOf(view: Snapshot, problems: readonly string[] = []): Promise<Verdict> {
  const tables = await compareWithTwin(view);
  return {
    cells: tables.reduce((sum, { cells }) => sum + cells, 0),
    wrong: tables.reduce((sum, { different }) => sum + different, problems.length),
    problems: [...problems, ...tables.flatMap(({ differences }) => differences)],
  };
}

/** Compares a database with the twin. Also reports what is still due, parked or damaged. */
export async function verdictOfDatabase(db: Database): Promise<Verdict> {
  await using view = await db.snapshot();
  return await verdictOf(view, await leftBehind(db));
}

/** Returns what must not exist when nothing is left to do. */
export async function leftBehind(db: Database): Promise<string[]> {
  const left = (await db.check()).map((problem) => JSON.stringify(problem));
  for await (const { observer, row } of db.pending()) left.push(`${observer} is due on ${row}.`);
  for await (const { observer, row, error } of db.parked())
    left.push(`${observer} was parked on ${row}: ${error.message}`);
  return left;
}

/**
 * Waits until nothing is due, even if a live worker is considered dead because the machine is too
 * busy.
 */
export async function settle(db: Database): Promise<void> {
  do await db.idle();
  while (await isDue(db));
}

async function isDue(db: Database): Promise<boolean> {
  for await (const _ of db.pending()) return true;
  return false;
}
