import { type Database, open } from "percolatordb";
import { allColumns } from "../../src/store/index.js";
import { hintTable } from "../../src/transaction/index.js";
import { compareRuns, Difference, doneIn } from "../crash/twin.js";
import { sound } from "../crash/verify.js";
import { patienceMs, pause } from "../support/waiting.js";
import { observers, tables } from "./app.js";
import { times } from "./members.js";
import { type Connection, locationOf } from "./places.js";
import { cellsOf, compareCells } from "./twin.js";

/** Opens the database in the test's own process, without a proxy. */
export async function openForCheck(connection: Connection): Promise<Database> {
  return await open(await locationOf(connection), {
    tables: Object.values(tables),
    observers,
    collectEveryMs: 0,
    lockTtlMs: times.lockTtlMs,
  });
}

/**
 * Verifies the database when no process writes any more. Waits until all work is done. Throws
 * unless every confirmed commit is there, every table equals the twin's, no observer has committed
 * more often than there were changes, and no lock, hint or parked change is left.
 */
export async function verify(db: Database, told: Iterable<string>): Promise<number> {
  await db.drain({ signal: AbortSignal.timeout(patienceMs) });
  await sound(db, "after the drain");
  for await (const parked of db.parked()) throw new Difference(`Parked: ${JSON.stringify(parked)}`);
  const done = await doneIn(db);
  const standing = new Set(done);
  const lost = [...told].filter((name) => !standing.has(name));
  if (lost.length > 0) throw new Difference(`Told committed, and not there: ${lost.join(", ")}`);
  await compareCells(db, cellsOf(done));
  await compareRuns(db, done, 1);
  await noLocks(db);
  await noHints(db);
  await sound(db, "in the end");
  return done.length;
}

/**
 * Removes locks until none is left. Throws if that takes too long. The lock of a dead process can
 * be removed at the latest after its time to live.
 */
async function noLocks(db: Database): Promise<void> {
  const left: string[] = [];
  const end = performance.now() + patienceMs;
  do {
    left.length = 0;
    for await (const lock of db.locks()) {
      if ((await db.resolve(lock)) === "standing") left.push(JSON.stringify(lock));
    }
    if (left.length === 0) return;
    await pause(100);
  } while (performance.now() < end);
  throw new Difference(`Locks were left: ${left.join("\n")}`);
}

/**
 * Waits until the store has no hints. Hints that were just handled may still be in the process of
 * removal.
 */
async function noHints({ openedStore }: Database): Promise<void> {
  let left = 0;
  const end = performance.now() + patienceMs;
  do {
    const page = await openedStore.readRaw({ table: hintTable, columns: allColumns, parts: ["write"] });
    left = page.rows.length;
    if (left === 0) return;
    await pause(50);
  } while (performance.now() < end);
  throw new Difference(`${left} hints were left.`);
}
