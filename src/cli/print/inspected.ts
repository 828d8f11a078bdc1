import { columnText, inspectedText, inspectedValue, statusText, writeText } from "../../dashboard/index.js";
import { type TableDefinition, valueToJson } from "../../schema/index.js";
import type { InspectedColumn } from "../../transaction/index.js";
import { formatDuration, showTimestamp } from "../time.js";
import { layOut, oneLine } from "./layout.js";
import { lockToJson } from "./lock-text.js";

/** Converts the protocol's cells of a column to JSON. */
export function inspectedToJson(table: TableDefinition, column: InspectedColumn): object {
  const value = (bytes: Uint8Array | undefined) =>
    bytes === undefined ? {} : { value: valueToJson(inspectedValue(table, column, bytes)) };
  return {
    column: columnText(column.path),
    locks: column.locks.map(lockToJson),
    writes: column.writes.map(
      ({ commitTimestamp, startTimestamp, kind, onePhase, loaded, value: bytes }) => ({
        commitTimestamp,
        startTimestamp,
        kind,
        onePhase,
        loaded,
        ...value(bytes),
      }),
    ),
    data: column.data.map(({ startTimestamp, value: bytes }) => ({ startTimestamp, ...value(bytes) })),
    statuses: column.statuses.map(({ startTimestamp, status }) => ({ startTimestamp, ...status })),
  };
}

/** Formats the protocol's cells for people: one line for each version, newest first. */
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
  const column = columnText(inspected.path);
  const show = (bytes: Uint8Array | undefined) =>
    bytes === undefined ? "" : inspectedText(table, inspected, bytes);
  return [
    ...inspected.locks.map((lock): VersionLine => {
      const primary = lock.isPrimary ? "primary" : "secondary";
      const age = formatDuration(nowMs - lock.refreshedAt.getTime());
      const holds = `${lock.kind}, ${primary}, refreshed ${age} ago by session ${lock.session}`;
      return { column, part: "lock", timestamp: lock.startTimestamp, holds };
    }),
    ...inspected.writes.map((write): VersionLine => {
      const { commitTimestamp, value } = write;
      const how = writeText(write);
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
    ...inspected.statuses.map((status): VersionLine => {
      return { column, part: "txn", timestamp: status.startTimestamp, holds: statusText(status) };
    }),
  ];
}
