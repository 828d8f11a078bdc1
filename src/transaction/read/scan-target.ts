import {
  type AnyTable,
  type Column,
  decodeRow,
  decodeValue,
  definition,
  encodePrefix,
  encodeRow,
  type Family,
  familyRange,
  isColumn,
  isFamily,
  isTable,
  type KeyPrefix,
  prefixEnd,
  type RowOf,
  type TableDefinition,
  valueErrorAt,
} from "../../schema/index.js";
import { type Columns, successor } from "../../store/index.js";
import { notAColumn } from "../argument-errors.js";
import type { CommittedCell, CommittedRow } from "../cell/committed.js";
import { userColumns } from "../cell/user-columns.js";
import { buildRow, familyMap } from "./build-row.js";
import type { ZeroCopyColumn } from "./zero-copy-reader.js";

/** A target of a scan: a column, a family or a table. */
export type Scannable = Column<unknown, unknown> | Family<unknown, unknown> | AnyTable;

/**
 * The type of `value` that a scan of a column, family or table yields for each row. A function that scans
 * any table can declare its result with it.
 *
 * @example
 * async function first<T extends AnyTable>(view: Snapshot, target: T): Promise<ValueOfScanned<T> | undefined> {
 *   for await (const { value } of view.scan(target, { limit: 1 })) return value;
 *   return undefined;
 * }
 */
export type ValueOfScanned<T extends Scannable> =
  T extends Column<infer V, infer _>
    ? V
    : T extends Family<infer V, infer _>
      ? ReadonlyMap<string, V>
      : T extends AnyTable
        ? RowOf<T>
        : never;

/**
 * Which rows a scan yields, and in which order. A row must satisfy every option that is given.
 * @example
 * for await (const { row } of tx.scan(accounts, { prefix: "a", limit: 10 })) console.log(row);
 */
export interface ScanOptions<K> {
  /**
   * Only keys with this prefix: the start of a string, or the leading parts of a tuple. Default:
   * all keys.
   */
  readonly prefix?: KeyPrefix<K> | undefined;
  /**
   * First key, inclusive. Of a tuple, leading parts are enough: the first key with them. Default: the
   * first key of the table.
   */
  readonly start?: K | KeyPrefix<K> | undefined;
  /**
   * End key, exclusive. Leading parts of a tuple leave out all keys with them. Default: the end of the
   * table.
   */
  readonly end?: K | KeyPrefix<K> | undefined;
  /**
   * Begins behind this key, in the direction of the scan: the last key of the page before. The row
   * need not exist. Default: begins with the first row.
   */
  readonly after?: K | undefined;
  /** Descending key order. Default: false. */
  readonly reverse?: boolean | undefined;
  /** The maximum number of rows. Default: no limit. */
  readonly limit?: number | undefined;
}

/**
 * A row of a scan, with the value of the scanned column or the cells of the scanned family or
 * table.
 */
export interface ScanItem<K, V> {
  readonly row: K;
  readonly value: V;
}

interface ScanTarget {
  readonly table: TableDefinition;
  readonly columns: Columns;
  readonly convert: (row: CommittedRow) => ScanItem<unknown, unknown>;
  /**
   * How to decode lent bytes. Present if the target is one column whose codec can decode in place.
   */
  readonly lent?: ZeroCopyColumn<ScanItem<unknown, unknown>> | undefined;
}

/**
 * Resolves a scan's target into the table, columns and decoder that `RowScan` needs. Throws if
 * `target` is not a column, a family or a table.
 */
export function scanTarget(target: unknown): ScanTarget {
  if (isColumn(target)) {
    const { table } = target;
    const convert = (found: CommittedRow) => {
      const row = decodeRow(table, found.row);
      return { row, value: decodeCell(target, row, found.cells[0]!) };
    };
    return { table, columns: [{ exact: target.path }], convert, lent: lentColumn(target) };
  }
  if (isFamily(target)) {
    const { table, name } = target;
    const convert = (found: CommittedRow) => {
      const row = decodeRow(table, found.row);
      return { row, value: familyMap(target, row, found.cells) };
    };
    return { table, columns: [familyRange(name)], convert };
  }
  if (isTable(target)) {
    const table = target[definition];
    const convert = (found: CommittedRow) => {
      const row = decodeRow(table, found.row);
      return { row, value: buildRow(table, row, found.cells) };
    };
    return { table, columns: userColumns, convert };
  }
  throw notAColumn("scan", target);
}

function lentColumn(
  column: Column<unknown, unknown>,
): ZeroCopyColumn<ScanItem<unknown, unknown>> | undefined {
  const { key } = column.table;
  const { decodeRange, decodesInPlace } = column.codec;
  if (!decodesInPlace || decodeRange === undefined) return undefined;
  return {
    column: column.path,
    toItem: (row, rowStart, rowEnd, value, start, end) => ({
      row: key.decodeRange(row, rowStart, rowEnd),
      value: decodeRange(value, start, end),
    }),
  };
}

/**
 * Decodes a cell that is not deleted. If the codec has `decodeRange`, no view of the bytes is made.
 */
function decodeCell<V>(column: Column<V, unknown>, row: unknown, cell: CommittedCell): V {
  const { codec } = column;
  if (codec.decodeRange === undefined) return decodeValue(column, row, cell.value!);
  try {
    return codec.decodeRange(cell.source!, cell.from, cell.source!.length);
  } catch (error) {
    throw valueErrorAt(column, row, error);
  }
}

/** The encoded row range of a scan, or undefined if the range is empty. */
export function scanRange(
  table: TableDefinition,
  options: ScanOptions<unknown>,
): { readonly start: Uint8Array | undefined; readonly end: Uint8Array | undefined } | undefined {
  let start = options.start === undefined ? undefined : encodePrefix(table, options.start, "start");
  let end = options.end === undefined ? undefined : encodePrefix(table, options.end, "end");
  if (options.prefix !== undefined) {
    const prefix = encodePrefix(table, options.prefix);
    const prefixLimit = prefixEnd(prefix);
    if (start === undefined || Buffer.compare(start, prefix) < 0) start = prefix;
    if (end === undefined || (prefixLimit !== undefined && Buffer.compare(prefixLimit, end) < 0))
      end = prefixLimit;
  }
  if (options.after !== undefined) {
    const after = encodeRow(table, options.after);
    const behind = successor(after);
    if (options.reverse === true && (end === undefined || Buffer.compare(after, end) < 0)) end = after;
    if (options.reverse !== true && (start === undefined || Buffer.compare(start, behind) < 0))
      start = behind;
  }
  if (start !== undefined && end !== undefined && Buffer.compare(start, end) >= 0) return undefined;
  return { start, end };
}
