import { decodeAcknowledgment } from "../observer/index.js";
import {
  formatValue,
  isSystemPath,
  type Json,
  parsePath,
  type TableDefinition,
  valueToJson,
} from "../schema/index.js";
import type { InspectedColumn } from "../transaction/index.js";
import { layOut, oneLine } from "./layout.js";
import { lockToJson } from "./lock-text.js";
import { formatDuration, showTimestamp } from "./time.js";

/** What the protocol keeps of a column, as JSON. */
export function inspectedToJson(table: TableDefinition, column: InspectedColumn): object {
  const value = (bytes: Uint8Array | undefined) =>
    bytes === undefined ? {} : { value: jsonOf(table, column, bytes) };
  return {
    column: nameOf(column),
    locks: column.locks.map(lockToJson),
    writes: column.writes.map(({ commitTimestamp, startTimestamp, kind, onePhase, value: bytes }) => ({
      commitTimestamp,
      startTimestamp,
      kind,
      onePhase,
      ...value(bytes),
    })),
    data: column.data.map(({ startTimestamp, value: bytes }) => ({ startTimestamp, ...value(bytes) })),
    statuses: column.statuses.map(({ startTimestamp, status }) => ({ startTimestamp, ...status })),
  };
}

/** The same for people: a line for each version, newest first. */
export function inspectedLines(
  table: TableDefinition,
  columns: readonly InspectedColumn[],
  nowMs: number,
): readonly string[] {
  const rows = columns.flatMap((column) => versionsOf(table, column, nowMs));
  return layOut(
    [{ name: "column" }, { name: "part" }, { name: "timestamp" }, { name: "time" }, { name: "holds" }],
    rows.map(({ column, part, timestamp, holds }) => [
      oneLine(column),
      part,
      String(timestamp),
      showTimestamp(timestamp),
      oneLine(holds),
    ]),
  );
}

interface VersionLine {
  readonly column: string;
  readonly part: "lock" | "write" | "data" | "txn";
  readonly timestamp: number;
  readonly holds: string;
}

function versionsOf(
  table: TableDefinition,
  inspected: InspectedColumn,
  nowMs: number,
): readonly VersionLine[] {
  const column = nameOf(inspected);
  const show = (bytes: Uint8Array | undefined) =>
    bytes === undefined ? "" : textOf(table, inspected, bytes);
  return [
    ...inspected.locks.map((lock): VersionLine => {
      const primary = lock.isPrimary ? "primary" : "secondary";
      const age = formatDuration(nowMs - lock.refreshedAt.getTime());
      const holds = `${lock.kind}, ${primary}, refreshed ${age} ago by session ${lock.session}`;
      return { column, part: "lock", timestamp: lock.startTimestamp, holds };
    }),
    ...inspected.writes.map(({ commitTimestamp, startTimestamp, kind, onePhase, value }): VersionLine => {
      const how = `${kind} from ${startTimestamp}${onePhase ? ", one phase" : ""}`;
      const holds = value === undefined ? how : `${how}: ${show(value)}`;
      return { column, part: "write", timestamp: commitTimestamp, holds };
    }),
    ...inspected.data.map(
      ({ startTimestamp, value }): VersionLine => ({
        column,
        part: "data",
        timestamp: startTimestamp,
        holds: show(value),
      }),
    ),
    ...inspected.statuses.map(({ startTimestamp, status }): VersionLine => {
      const holds = status.outcome === "committed" ? `committed at ${status.commit}` : "rolled back";
      return { column, part: "txn", timestamp: startTimestamp, holds };
    }),
  ];
}

/** A column as commands name it; of what an observer keeps: which, whose, and of what column. */
function nameOf({ path }: InspectedColumn): string {
  const { name, qualifier } = parsePath(path);
  if (qualifier === undefined) return name;
  if (!isSystemPath(path)) return `${name}:${qualifier}`;
  const [observer, column, cell] = qualifier.split("\0");
  return `${name} ${observer} ${cell === undefined ? column : `${column}:${cell}`}`;
}

function decoded(table: TableDefinition, { path }: InspectedColumn, bytes: Uint8Array): unknown {
  const { name } = parsePath(path);
  const codec = table.columns.get(name)?.codec;
  try {
    if (name === "~ack" || name === "~parked") return decodeAcknowledgment(bytes);
    return codec === undefined ? bytes : codec.decode(bytes);
  } catch {
    // What cannot be decoded is what somebody inspects a row for.
    return bytes;
  }
}

function jsonOf(table: TableDefinition, column: InspectedColumn, bytes: Uint8Array): Json {
  return valueToJson(decoded(table, column, bytes));
}

function textOf(table: TableDefinition, column: InspectedColumn, bytes: Uint8Array): string {
  const codec = table.columns.get(parsePath(column.path).name)?.codec;
  return formatValue(codec ?? "json", decoded(table, column, bytes));
}
