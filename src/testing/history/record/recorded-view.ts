import { type AnyTable, definition, encodeRow, type Family, familyRange } from "../../../schema/index.js";
import {
  checkRows,
  type EntriesOptions,
  type Entry,
  type ScanItem,
  type ScanOptions,
  type Snapshot,
  type Transaction,
} from "../../../transaction/index.js";
import {
  byteText,
  type CellColumn,
  cellName,
  encodedValue,
  scanRows,
  scanTarget,
  successor,
  userColumns,
} from "../encoded.js";
import type { CellName, ShownCell } from "../history.js";
import { RecordedIterator } from "./recorded-iterator.js";
import type { OpenRange, Recording } from "./recording.js";

type Call = (...args: never[]) => unknown;

/**
 * Wraps a transaction and records what its caller does. It is a proxy whose methods call the target
 * itself, because private fields need the real receiver.
 */
export function recordTransaction(
  target: Transaction,
  recording: Recording,
  written: (cell: CellName, column: CellColumn, row: unknown) => void,
): Transaction {
  const read = readingCalls(target, recording);
  const write = (column: CellColumn, row: unknown, value: string | undefined) => {
    const cell = cellName(column, row);
    recording.add({ type: "write", cell, value, at: recording.clock.tick() });
    written(cell, column, row);
  };
  return withCalls(target, {
    ...read,
    set: (column: CellColumn, row: unknown, value: unknown) => {
      target.set(column, row, value);
      write(column, row, encodedValue(column.codec, value));
    },
    delete: (column: CellColumn, row: unknown) => {
      target.delete(column, row);
      write(column, row, undefined);
    },
    // A read of the row shows which cells `deleteRow` deletes.
    deleteRow: async (table: AnyTable, row: unknown) => {
      const cells = await read.shownRow(table, row);
      await target.deleteRow(table, row as never);
      for (const column of cells) write(column, row, undefined);
    },
    commit: async () => {
      if (recording.hasEnded) return target.commit();
      recording.committing();
      try {
        await target.commit();
      } catch (error) {
        recording.failed(error);
        throw error;
      }
      recording.committed(target.commitTimestamp);
    },
    rollback: async () => {
      await target.rollback();
      recording.rolledBack();
    },
    [Symbol.asyncDispose]: async () => {
      await target[Symbol.asyncDispose]();
      recording.rolledBack();
    },
  });
}

/** Wraps a snapshot and records its reads. */
export function recordSnapshot(target: Snapshot, recording: Recording): Snapshot {
  return withCalls(target, readingCalls(target, recording));
}

function withCalls<T extends object>(target: T, calls: Readonly<Record<PropertyKey, Call>>): T {
  return new Proxy(target, {
    get(_, property) {
      if (Object.hasOwn(calls, property)) return calls[property];
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? (value as Call).bind(target) : value;
    },
  });
}

function readingCalls(target: Transaction | Snapshot, recording: Recording) {
  const { clock } = recording;
  const shown = (column: CellColumn, row: unknown, value: unknown, invoked: number) => {
    recording.add({
      type: "read",
      cell: cellName(column, row),
      value: value === undefined ? undefined : encodedValue(column.codec, value),
      invoked,
      completed: clock.tick(),
    });
  };
  const readRow = async (table: AnyTable, row: unknown) => {
    const invoked = clock.tick();
    const value = await target.row(table, row as never);
    const { table: defined, cells } = scanTarget(table)!;
    const start = byteText(encodeRow(defined, row));
    const range = openRange(recording, defined.name, invoked);
    range.add(value === undefined ? [] : cells(start, value), { start, end: successor(start) }, userColumns);
    return value;
  };
  return {
    get: async (column: CellColumn, row: unknown) => {
      const invoked = clock.tick();
      const value = await target.get(column, row);
      shown(column, row, value, invoked);
      return value;
    },
    getMany: async (column: CellColumn, rows: Iterable<unknown>) => {
      const invoked = clock.tick();
      checkRows(rows);
      const all = [...rows];
      const values = await target.getMany(column, all);
      for (const [index, row] of all.entries()) shown(column, row, values[index], invoked);
      return values;
    },
    row: readRow,
    scan: (scanned: CellColumn, options: ScanOptions<unknown> = {}) =>
      recordScan(recording, target.scan(scanned, options), scanned, options),
    entries: (family: Family<unknown, unknown>, row: unknown, options: EntriesOptions = {}) =>
      recordEntries(recording, target.entries(family, row, options), family, row, options),
    shownRow: async (table: AnyTable, row: unknown): Promise<readonly CellColumn[]> => {
      const value = await readRow(table, row);
      return value === undefined ? [] : columnsOf(table, value as Readonly<Record<string, unknown>>);
    },
  };
}

/** Returns the columns that have a value in a row, in the form in which `row` returns it. */
function columnsOf(table: AnyTable, row: Readonly<Record<string, unknown>>): readonly CellColumn[] {
  const bound = table as unknown as Readonly<Record<string, CellColumn | Family<unknown, unknown>>>;
  return [...table[definition].columns.values()].flatMap(({ property, kind }): CellColumn[] => {
    const value = row[property];
    if (kind === "signal" || value === undefined) return [];
    if (kind === "column") return [bound[property] as CellColumn];
    const family = bound[property] as Family<unknown, unknown>;
    return [...(value as ReadonlyMap<string, unknown>).keys()].map((qualifier) => family.at(qualifier));
  });
}

interface RangeGrowth {
  add(cells: readonly ShownCell[], rows: OpenRange["rows"], columns: OpenRange["columns"]): void;
}

/** Begins the record of a range. The record covers only what the caller reads of the range. */
function openRange(recording: Recording, table: string, invoked: number, reverse = false): RangeGrowth {
  let range: OpenRange | undefined;
  const cells: ShownCell[] = [];
  return {
    add(more, rows, columns) {
      cells.push(...more);
      const completed = recording.clock.tick();
      if (range === undefined) {
        range = { type: "range", table, rows, columns, reverse, cells, invoked, completed };
        recording.add(range);
      } else {
        Object.assign(range, { rows, columns, completed });
      }
    },
  };
}

function recordScan(
  recording: Recording,
  inner: AsyncIterableIterator<ScanItem<unknown, unknown>>,
  scanned: unknown,
  options: ScanOptions<unknown>,
): AsyncIterableIterator<ScanItem<unknown, unknown>> {
  const target = scanTarget(scanned)!;
  const rows = scanRows(target.table, options);
  const reverse = options.reverse ?? false;
  const range = openRange(recording, target.table.name, recording.clock.tick(), reverse);
  let items = 0;
  return new RecordedIterator(inner, {
    item({ row, value }) {
      items++;
      const name = byteText(encodeRow(target.table, row));
      const covered = reverse ? { start: name, end: rows.end } : { start: rows.start, end: successor(name) };
      range.add(target.cells(name, value), covered, target.columns);
    },
    end() {
      if (options.limit === undefined || items < options.limit) range.add([], rows, target.columns);
    },
  });
}

function recordEntries(
  recording: Recording,
  inner: AsyncIterableIterator<Entry<unknown>>,
  family: Family<unknown, unknown>,
  row: unknown,
  options: EntriesOptions,
): AsyncIterableIterator<Entry<unknown>> {
  const { table, name, codec } = family;
  const start = byteText(encodeRow(table, row));
  const rows = { start, end: successor(start) };
  const bytes = familyRange(name, options);
  const columns = { start: byteText(bytes.start), end: byteText(bytes.end) };
  const range = openRange(recording, table.name, recording.clock.tick());
  let items = 0;
  return new RecordedIterator(inner, {
    item({ qualifier, value }) {
      items++;
      const column = byteText(family.at(qualifier).path);
      const cell = { row: start, column, value: encodedValue(codec, value) };
      range.add([cell], rows, { start: columns.start, end: successor(column) });
    },
    end() {
      if (options.limit === undefined || items < options.limit) range.add([], rows, columns);
    },
  });
}
