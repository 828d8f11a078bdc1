import { parkedTable } from "../../observer/index.js";
import { decodeRow, definition } from "../../schema/index.js";
import { asBuffer } from "../../store/index.js";
import { type CellAddress, type LockInfo, systemTable } from "../../transaction/index.js";
import type { Acted, LockShown, LocksPage } from "../api.js";
import { cellName } from "../text/cells.js";
import { makeId, readId } from "../text/ids.js";
import type { KnownTables } from "../text/tables.js";
import type { ViewContext } from "./context.js";

type Lock = Pick<LockInfo, "startTimestamp"> & { readonly cell: CellAddress };

/** A page of the existing locks, ordered by table, row and column. */
export async function locks(
  context: ViewContext,
  request: { readonly after: string | undefined; readonly limit: number },
  signal: AbortSignal,
): Promise<LocksPage> {
  const { after, limit } = request;
  const [tables, status] = await Promise.all([context.tables.current(), context.db.status()]);
  const order = [...(await context.db.tables()).keys(), systemTable, parkedTable];
  const place = after === undefined ? undefined : lockOf(after);
  const now = context.environment.now();
  const found: LockShown[] = [];
  for await (const lock of context.db.locks({ signal })) {
    if (place !== undefined && compare(order, lock, place) <= 0) continue;
    found.push(lockShown(tables, lock, now, ownerLives(lock, now, status)));
    if (found.length > limit) break;
  }
  const page = found.slice(0, limit);
  return { locks: page, next: found.length > limit ? page.at(-1)?.id : undefined };
}

/** The order in which `db.locks` lists them. */
function compare(order: readonly string[], a: Lock, b: Lock): number {
  const place = ({ cell }: Lock) => {
    const at = order.indexOf(cell.table);
    return at < 0 ? order.length : at;
  };
  return (
    place(a) - place(b) ||
    Buffer.compare(a.cell.row, b.cell.row) ||
    Buffer.compare(a.cell.column, b.cell.column) ||
    a.startTimestamp - b.startTimestamp
  );
}

/** Undefined if no session of the owner is known and the lock has not expired. */
function ownerLives(
  { session, refreshedAt, ttlMs }: LockInfo,
  now: number,
  status: Awaited<ReturnType<ViewContext["db"]["status"]>>,
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

/** Resolves a lock by its primary lock, unless its owner lives. */
export async function resolveLock(context: ViewContext, id: string, signal: AbortSignal): Promise<Acted> {
  const wanted = lockOf(id);
  const lock = await find(context, wanted, signal);
  if (lock === undefined) return { done: 0, gone: 1, standing: 0 };
  const outcome = await context.db.resolve(lock);
  return outcome === "gone" ? { done: 1, gone: 0, standing: 0 } : { done: 0, gone: 0, standing: 1 };
}

async function find(
  context: ViewContext,
  { cell, startTimestamp }: Lock,
  signal: AbortSignal,
): Promise<LockInfo | undefined> {
  const isIt = (lock: LockInfo) =>
    lock.startTimestamp === startTimestamp &&
    lock.cell.table === cell.table &&
    Buffer.compare(lock.cell.row, cell.row) === 0 &&
    Buffer.compare(lock.cell.column, cell.column) === 0;
  const table = (await context.tables.current()).table(cell.table);
  if (table === undefined) {
    // The lock is in one of the protocol's own tables.
    for await (const lock of context.db.locks({ signal })) if (isIt(lock)) return lock;
    return undefined;
  }
  const columns = await context.db.inspect(table, decodeRow(table[definition], cell.row));
  return columns.flatMap(({ locks: standing }) => standing).find(isIt);
}
