import type { Database } from "../database/index.js";
import { type AnyTable, type Column, definition } from "../schema/index.js";
import type { Snapshot } from "../transaction/index.js";

/** The changes of a schedule that should have fired, and have not. */
export interface Overdue {
  readonly schedule: string;
  readonly count: number;
  /** Whether there are more than `count`. */
  readonly more: boolean;
  /** When the oldest counted change was due. */
  readonly oldest: Date | undefined;
}

type DueKey = readonly [spread: number, dueAt: number, key: string];

/** A due time after every real one. */
const afterAll = Number.MAX_VALUE;

/**
 * Counts the overdue changes of each schedule of a database, up to `max` for each schedule. It
 * recognizes a schedule by the tables that it declares.
 */
export async function overdueSchedules(
  db: Database,
  nowMs: number,
  signal: AbortSignal,
  max: number,
): Promise<readonly Overdue[]> {
  const tables = await db.tables();
  const schedules = [...tables.keys()].filter((name) => isSchedule(tables, name));
  if (schedules.length === 0) return [];
  await using snapshot = await db.snapshot({ signal });
  const found: Overdue[] = [];
  for (const schedule of schedules) {
    found.push({ schedule, ...(await countOverdue(snapshot, tables.get(`${schedule}_due`)!, nowMs, max)) });
  }
  return found;
}

function isSchedule(tables: ReadonlyMap<string, AnyTable>, name: string): boolean {
  const tagOf = (table: string, column: string) =>
    tables.get(table)?.[definition].columns.get(column)?.codec?.tag;
  return (
    tagOf(name, "dueAt") === "float" &&
    tagOf(`${name}_due`, "delays") === "int" &&
    tables.get(`${name}_due`)?.[definition].key.tag === "tuple(int,float,text)" &&
    tagOf(`${name}_parked`, "parked") === "json"
  );
}

/**
 * Counts the overdue changes of one schedule. Its changes are spread over ranges of keys, the
 * spreads, and each spread is ordered by due time. After the overdue changes of a spread, the scan
 * skips the changes that are due later, and jumps to the next spread that has rows.
 */
async function countOverdue(
  snapshot: Snapshot,
  table: AnyTable,
  nowMs: number,
  max: number,
): Promise<Omit<Overdue, "schedule">> {
  const column = Reflect.get(table, "delays") as Column<number, DueKey>;
  let count = 0;
  let oldest = Number.POSITIVE_INFINITY;
  for (let spread: number | undefined = 0; spread !== undefined; ) {
    const range = {
      start: [spread, 0, ""],
      end: [spread, nowMs, "\u{10ffff}"],
      limit: max + 1,
    } as const;
    for await (const { row } of snapshot.scan(column, range)) {
      oldest = Math.min(oldest, row[1]);
      if (++count > max) return { count: max, more: true, oldest: new Date(oldest) };
    }
    const from: DueKey = [spread, afterAll, ""];
    spread = undefined;
    for await (const { row } of snapshot.scan(column, { start: from, limit: 1 })) spread = row[0];
  }
  return { count, more: false, oldest: Number.isFinite(oldest) ? new Date(oldest) : undefined };
}
