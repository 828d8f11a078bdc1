import type { FailureGroup } from "../../dashboard/index.js";
import type { ParkedChange, PendingChange } from "../../observer/index.js";
import { definition } from "../../schema/index.js";
import { counted, oneLine } from "../print/layout.js";
import { formatDuration } from "../time.js";
import { UsageError } from "../usage-error.js";
import type { OpenedDatabase } from "./open-database.js";

type Cell = Pick<PendingChange, "table" | "column" | "qualifier" | "row">;

/** Formats the row of an observed cell in the form that commands accept. */
export function rowText(opened: OpenedDatabase, { table, row }: Cell): string {
  const found = opened.table(table);
  return found === undefined ? String(row) : found[definition].key.format(row);
}

function targetText({ table, column, qualifier }: Cell): string {
  return qualifier === undefined ? `${table}.${column}` : `${table}.${column}:${qualifier}`;
}

function headLine(opened: OpenedDatabase, cell: Cell & { readonly observer: string }): string {
  return `${cell.observer}  ${oneLine(targetText(cell))}  ${oneLine(rowText(opened, cell))}`;
}

/** Converts a pending change to JSON. */
export function pendingToJson(opened: OpenedDatabase, change: PendingChange): object {
  const { observer, table, column, qualifier, since, timestamp, attempts, crashes, notBefore, lastError } =
    change;
  return {
    observer,
    table,
    column,
    qualifier: qualifier ?? null,
    row: rowText(opened, change),
    since: since.toISOString(),
    timestamp,
    attempts,
    crashes,
    notBefore: notBefore?.toISOString() ?? null,
    lastError: lastError ?? null,
  };
}

/** Formats a pending change for people. */
export function pendingLines(
  opened: OpenedDatabase,
  change: PendingChange,
  nowMs: number,
): readonly string[] {
  const { since, attempts, crashes, notBefore, lastError } = change;
  const head = `${headLine(opened, change)}  for ${formatDuration(Math.max(0, nowMs - since.getTime()))}`;
  if (lastError === undefined && crashes === 0) return [head];
  const waitMs = (notBefore?.getTime() ?? 0) - nowMs;
  const next = waitMs > 0 ? `next attempt in ${formatDuration(waitMs)}` : "next attempt now";
  if (lastError === undefined) {
    const ended = crashes === 1 ? "a process" : `${crashes} processes`;
    return [head, `  ${ended} ended while it was due, ${next}`];
  }
  return [head, `  failed ${counted(attempts, "time")}, ${next}: ${oneLine(lastError)}`];
}

/** Converts a parked change to JSON. */
export function parkedToJson(opened: OpenedDatabase, change: ParkedChange): object {
  const { observer, table, column, qualifier, attempts, parkedAt, error } = change;
  return {
    observer,
    table,
    column,
    qualifier: qualifier ?? null,
    row: rowText(opened, change),
    attempts,
    parkedAt: parkedAt.toISOString(),
    error,
  };
}

/** Formats a parked change for people. */
export function parkedLines(opened: OpenedDatabase, change: ParkedChange, nowMs: number): readonly string[] {
  const { attempts, parkedAt, error } = change;
  const ago = formatDuration(Math.max(0, nowMs - parkedAt.getTime()));
  return [
    headLine(opened, change),
    `  ${counted(attempts, "attempt")}, parked ${ago} ago (${parkedAt.toISOString()})`,
    `  ${error.name}: ${oneLine(error.message)}`,
  ];
}

/** Throws a {@link UsageError} if a name is given and no observer of that name is registered. */
export async function checkObserver({ db }: OpenedDatabase, name: string | undefined): Promise<void> {
  if (name === undefined) return;
  const observers = await db.observers();
  if (observers.has(name)) return;
  const known = observers.size === 0 ? "no observer" : [...observers.keys()].join(", ");
  throw new UsageError(
    `Observer ${JSON.stringify(name)} is not registered. Registered: ${known}.`,
    "OBSERVER",
  );
}

/** Converts a group of parked changes to JSON. */
export function groupToJson(opened: OpenedDatabase, group: FailureGroup<ParkedChange>): object {
  const { observer, message, count, firstAt, lastAt, newest } = group;
  return {
    observer,
    error: message,
    count,
    first: firstAt.toISOString(),
    last: lastAt.toISOString(),
    rows: newest.map((change) => rowText(opened, change)),
  };
}

const rowsInLine = 3;

/** Formats a group of parked changes for people. */
export function groupLines(
  opened: OpenedDatabase,
  { observer, message, count, firstAt, lastAt, newest }: FailureGroup<ParkedChange>,
  nowMs: number,
): readonly string[] {
  const ago = (at: Date) => formatDuration(Math.max(0, nowMs - at.getTime()));
  const rows = newest.slice(0, rowsInLine).map((change) => oneLine(rowText(opened, change)));
  return [
    `${observer}  ${counted(count, "change")}, the last parked ${ago(lastAt)} ago, the first ${ago(firstAt)} ago`,
    `  ${oneLine(message)}`,
    `  such as ${rows.join("  ")}`,
  ];
}
