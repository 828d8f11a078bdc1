import { parseRecordColumn } from "../../observer/index.js";
import { definition, isSystemPath, parseRowText, type TableDefinition } from "../../schema/index.js";
import { type InspectedColumn, type LockInfo, timestampToDate } from "../../transaction/index.js";
import type { InspectedRow, ValueShown } from "../api/index.js";
import { columnText } from "../text/cells.js";
import { inspectedText, statusText, writeText } from "../text/inspected.js";
import { cutText } from "../text/values.js";
import type { RowQuestion, View, ViewContext } from "./context.js";
import { firstOf } from "./first-of.js";

const maxColumns = 500;
const maxEntries = 200;
const maxOfValue = 500;

type Column = InspectedRow["columns"][number];
type Entry = Column["entries"][number];

/** The protocol cells of a row, in the form of the paper's figure 4. */
export const inspect: View<InspectedRow> = async ({ inspected }, given) => {
  const { name } = (await given.table())[definition];
  return await inspected.get({ table: name, row: given.needed("row") });
};

/** Reads the protocol cells of a row, for all viewers. */
export async function readInspected(
  { db, environment, tables }: Pick<ViewContext, "db" | "environment" | "tables">,
  question: RowQuestion,
): Promise<InspectedRow> {
  const table = (await tables.get()).table(question.table)!;
  const defined = table[definition];
  const row = parseRowText(defined, question.row);
  const [{ first, isMore }, pending] = await Promise.all([
    firstOf(db.inspectEach(table, row), maxColumns),
    db.pendingOf(table, row),
  ]);
  const now = environment.now();
  const shown = first.map((column) => ({
    column: columnText(column.path),
    role: roleOf(column.path),
    entries: entriesOf(defined, column, now),
  }));
  return {
    table: defined.name,
    row: defined.key.format(row),
    columns: shown.map((column) => ({ ...column, entries: column.entries.slice(0, maxEntries) })),
    isCut: isMore || shown.some(({ entries }) => entries.length > maxEntries),
    hints: pending.map(({ observer, column, qualifier, timestamp }) => ({
      observer,
      column: qualifier === undefined ? column : `${column}:${qualifier}`,
      since: timestamp,
    })),
  };
}

function roleOf(path: Uint8Array): Column["role"] {
  if (!isSystemPath(path)) return "user";
  return parseRecordColumn(path)?.kind ?? "other";
}

/** One line for each timestamp, newest first, with what each part of the column holds there. */
function entriesOf(table: TableDefinition, column: InspectedColumn, now: number): readonly Entry[] {
  const entries = new Map<number, Entry>();
  const put = (timestamp: number, part: Partial<Entry>) => {
    const before = entries.get(timestamp) ?? emptyEntry(timestamp);
    entries.set(timestamp, { ...before, ...part });
  };
  const value = (bytes: Uint8Array): ValueShown => {
    return { ...cutText(inspectedText(table, column, bytes), maxOfValue), bytes: bytes.length };
  };
  for (const lock of column.locks) put(lock.startTimestamp, { lock: lockText(lock, now) });
  for (const write of column.writes) {
    const { commitTimestamp, value: bytes } = write;
    // If a value is short, its write record holds it.
    put(commitTimestamp, { write: writeText(write), ...(bytes === undefined ? {} : { data: value(bytes) }) });
  }
  for (const { startTimestamp, value: bytes } of column.data) put(startTimestamp, { data: value(bytes) });
  for (const status of column.statuses) put(status.startTimestamp, { status: statusText(status) });
  return [...entries.values()].sort((a, b) => b.timestamp - a.timestamp);
}

function emptyEntry(timestamp: number): Entry {
  const at = timestampToDate(timestamp).getTime();
  return { timestamp, at, data: undefined, lock: undefined, write: undefined, status: undefined };
}

function lockText({ kind, isPrimary, refreshedAt, session }: LockInfo, now: number): string {
  const age = Math.max(0, Math.round(now - refreshedAt.getTime()));
  return `${kind}, ${isPrimary ? "primary" : "secondary"}, refreshed ${age} ms ago by session ${session}`;
}
