import {
  type Codec,
  type Column,
  columnPath,
  definition,
  encodePrefix,
  encodeRow,
  familyRange,
  isColumn,
  isFamily,
  isTable,
  parsePath,
  prefixEnd,
  type TableDefinition,
} from "../../schema/index.js";
import type { ScanOptions } from "../../transaction/index.js";
import type { CellName, Interval, ShownCell } from "./history.js";

/** A column of any type, including a cell of a family. */
export type CellColumn = Column<unknown, unknown>;

/**
 * Converts bytes to a string with one character for each byte. The strings sort as the bytes do.
 */
export function byteText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/** Returns the first string after `text`. */
export function successor(text: string): string {
  return `${text}\0`;
}

/** Returns the form of a value that is compared and shown. */
export function encodedValue(codec: Codec<unknown>, value: unknown): string {
  switch (codec.tag) {
    case "text":
      return JSON.stringify(value);
    case "json":
      return Buffer.from(codec.encode(value)).toString("utf8");
    case "int":
    case "boolean":
      return String(value);
    case "float":
      return Object.is(value, -0) ? "-0" : String(value);
    default:
      return `0x${Buffer.from(codec.encode(value)).toString("hex")}`;
  }
}

/** Returns the name of a column's cell. */
export function cellName(column: CellColumn, row: unknown): CellName {
  return {
    table: column.table.name,
    row: byteText(encodeRow(column.table, row)),
    column: byteText(column.path),
  };
}

const everyRow: Interval = { start: "", end: undefined };
/** The columns of users. The protocol's own columns come after them. */
export const userColumns: Interval = { start: "", end: "~" };

/** The columns that a scan reads, and how it divides a row's value into cells. */
export interface Target {
  readonly table: TableDefinition;
  readonly columns: Interval;
  readonly cells: (row: string, value: unknown) => readonly ShownCell[];
}

/** Returns what a scan of a column, family or table reads, or `undefined` for anything else. */
export function scanTarget(target: unknown): Target | undefined {
  if (isColumn(target)) {
    const column = byteText(target.path);
    return {
      table: target.table,
      columns: { start: column, end: successor(column) },
      cells: (row, value) => [{ row, column, value: encodedValue(target.codec, value) }],
    };
  }
  if (isFamily(target)) {
    const { name, codec, table } = target;
    const { start, end } = familyRange(name);
    return {
      table,
      columns: { start: byteText(start), end: byteText(end) },
      cells: (row, value) => familyCells(name, codec, row, value as ReadonlyMap<string, unknown>),
    };
  }
  if (!isTable(target)) return undefined;
  const table = target[definition];
  return {
    table,
    columns: userColumns,
    cells: (row, value) => rowCells(table, row, value as Readonly<Record<string, unknown>>),
  };
}

function familyCells(
  name: string,
  codec: Codec<unknown>,
  row: string,
  value: ReadonlyMap<string, unknown>,
): ShownCell[] {
  return [...value].map(([qualifier, each]) => ({
    row,
    column: byteText(columnPath(name, qualifier)),
    value: encodedValue(codec, each),
  }));
}

/**
 * Returns the cells of a row that `row` or the scan of a table returned, in the order of their
 * columns.
 */
function rowCells(
  table: TableDefinition,
  row: string,
  value: Readonly<Record<string, unknown>>,
): readonly ShownCell[] {
  const cells: ShownCell[] = [];
  for (const { name, property, kind, codec } of table.columns.values()) {
    const shown = value[property];
    if (codec === undefined || shown === undefined) continue;
    if (kind === "family")
      cells.push(...familyCells(name, codec, row, shown as ReadonlyMap<string, unknown>));
    else cells.push({ row, column: byteText(columnPath(name)), value: encodedValue(codec, shown) });
  }
  return cells.sort((a, b) => (a.column < b.column ? -1 : 1));
}

/** Returns the interval of rows that a scan's options select. */
export function scanRows(table: TableDefinition, options: ScanOptions<unknown>): Interval {
  const rows: Interval[] = [everyRow];
  if (options.prefix !== undefined) {
    const prefix = encodePrefix(table, options.prefix);
    const end = prefixEnd(prefix);
    rows.push({ start: byteText(prefix), end: end === undefined ? undefined : byteText(end) });
  }
  if (options.start !== undefined)
    rows.push({ start: byteText(encodePrefix(table, options.start, "start")), end: undefined });
  if (options.end !== undefined)
    rows.push({ start: "", end: byteText(encodePrefix(table, options.end, "end")) });
  if (options.after !== undefined) {
    const after = byteText(encodeRow(table, options.after));
    const isReverse = options.reverse === true;
    rows.push(isReverse ? { start: "", end: after } : { start: successor(after), end: undefined });
  }
  return rows.reduce((a, b) => ({
    start: a.start > b.start ? a.start : b.start,
    end: a.end === undefined || (b.end !== undefined && b.end < a.end) ? b.end : a.end,
  }));
}

/** Formats a cell for messages: `accounts.balance["alice"]`, `documents.anchors("q")["a"]`. */
export function showCellName({ table, row, column }: CellName): string {
  const { name, qualifier } = parsePath(Buffer.from(column, "latin1"));
  const shown = qualifier === undefined ? name : `${name}(${JSON.stringify(qualifier)})`;
  return `${table}.${shown}[${showRow(row)}]`;
}

function showRow(row: string): string {
  const bytes = Buffer.from(row, "latin1");
  const text = bytes.toString("utf8");
  const readable = Buffer.from(text, "utf8").equals(bytes) && !hasControls(text);
  return readable ? JSON.stringify(text) : `0x${bytes.toString("hex")}`;
}

function hasControls(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) < 0x20) return true;
  return false;
}
