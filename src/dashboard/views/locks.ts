import type { DatabaseStatus } from "../../database/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import { decodeRow, definition } from "../../schema/index.js";
import { asBuffer } from "../../store/index.js";
import type { CellAddress, LockInfo } from "../../transaction/index.js";
import type { Acted, LockShown, LocksPage } from "../api/index.js";
import { readWithin } from "../read-within.js";
import { stringOf } from "../server/body.js";
import { cellName } from "../text/cells.js";
import { makeId, readId } from "../text/ids.js";
import type { KnownTables } from "../text/tables.js";
import type { Action, LocksQuestion, View, ViewContext } from "./context.js";

/** The longest time for reading a page: each reads all locks before it. */
const readingMs = 3_000;

type Lock = Pick<LockInfo, "startTimestamp"> & { readonly cell: CellAddress };

/** A page of the existing locks, ordered by table, row and column. */
export const locks: View<LocksPage> = async (context, given) =>
  await context.locks.get({ after: given.text("after"), limit: given.limit() });

/** Reads a page of locks, for all viewers. */
export async function readLocks(
  { db, tables: known, environment }: Pick<ViewContext, "db" | "tables" | "environment">,
  { after, limit }: LocksQuestion,
  closing: AbortSignal,
): Promise<LocksPage> {
  const place = after === undefined ? undefined : lockOf(after);
  const [tables, status, order] = await Promise.all([known.get(), db.status(), db.cellTables()]);
  const now = environment.now();
  const shown: LockShown[] = [];
  let isMore = false;
  const time = { environment, closing, timeMs: readingMs, doing: "Reading locks" };
  const ended = await readWithin(time, async (signal) => {
    for await (const lock of db.locks({ signal })) {
      if (place !== undefined && compare(order, lock, place) <= 0) continue;
      isMore = shown.length === limit;
      if (isMore) return;
      shown.push(lockShown(tables, lock, now, ownerLives(lock, now, status)));
    }
  });
  return { locks: shown, next: isMore ? shown.at(-1)?.id : undefined, isCut: !ended };
}

/** The order in which `db.locks` lists them. */
function compare(order: readonly string[], a: Lock, b: Lock): number {
  const place = ({ cell }: Lock) => {
    const at = order.indexOf(cell.table);
    return at < 0 ? order.length : at;
  };
  return place(a) - place(b) || compareInTable(a, b);
}

function compareInTable(a: Lock, b: Lock): number {
  return (
    Buffer.compare(a.cell.row, b.cell.row) ||
    Buffer.compare(a.cell.column, b.cell.column) ||
    a.startTimestamp - b.startTimestamp
  );
}

/**
 * Whether a lock's owner is alive. Undefined if no session of the owner is known and the lock has
 * not expired.
 */
function ownerLives(
  { session, refreshedAt, ttlMs }: LockInfo,
  now: number,
  status: DatabaseStatus,
): boolean | undefined {
  if (status.sessions.has(session) || status.coordinator?.sessions?.has(session)) return true;
  return now - refreshedAt.getTime() > ttlMs ? false : undefined;
}

function lockShown(tables: KnownTables, lock: LockInfo, now: number, lives: boolean | undefined): LockShown {
  const { cell, startTimestamp, kind, primary, isPrimary, session, refreshedAt, ttlMs } = lock;
  return {
    id: idOf(lock),
    ...cellName(tables, cell),
    kind,
    startTimestamp,
    primary: cellName(tables, primary),
    isPrimary,
    session,
    ageMs: Math.max(0, now - refreshedAt.getTime()),
    ttlMs,
    ownerLives: lives,
  };
}

function idOf({ cell, startTimestamp }: Lock): string {
  const { table, row, column } = cell;
  return makeId([
    table,
    asBuffer(row).toString("base64"),
    asBuffer(column).toString("base64"),
    startTimestamp,
  ]);
}

function lockOf(id: string): Lock {
  const [table, row, column, start] = readId(id, 4);
  const bytes = (part: unknown) => Buffer.from(String(part), "base64");
  return {
    cell: { table: String(table), row: bytes(row), column: bytes(column) },
    startTimestamp: Number(start),
  };
}

/** Resolves a lock according to its primary lock, unless the lock's owner lives. */
export const resolveLock: Action<Acted> = async (context, body, signal) => {
  const id = stringOf(body, "id");
  if (id === undefined) throw new InvalidArgumentError("`id` is missing: give the id of a lock.");
  const lock = await find(context, lockOf(id), signal);
  if (lock === undefined) return { done: 0, gone: 1, standing: 0 };
  const outcome = await context.db.resolve(lock);
  context.locks.forget();
  return outcome === "gone" ? { done: 1, gone: 0, standing: 0 } : { done: 0, gone: 0, standing: 1 };
};

async function find({ db, tables }: ViewContext, wanted: Lock, signal: AbortSignal) {
  const isIt = (lock: LockInfo) =>
    lock.cell.table === wanted.cell.table && compareInTable(lock, wanted) === 0;
  const table = (await tables.get()).table(wanted.cell.table);
  if (table === undefined) {
    // The lock is in one of the protocol's own tables. `db.inspectEach` needs a table's
    // definition, and the protocol's tables have none, so this code searches all locks.
    for await (const lock of db.locks({ signal })) if (isIt(lock)) return lock;
    return undefined;
  }
  for await (const { locks } of db.inspectEach(table, decodeRow(table[definition], wanted.cell.row))) {
    const found = locks.find(isIt);
    if (found !== undefined) return found;
  }
  return undefined;
}
