import { checkOptionNames, InvalidArgumentError, type OptionNames, SchemaError } from "../../errors/index.js";
import {
  type AnyTable,
  type Column,
  checkCellKey,
  decodeValue,
  definition,
  describeRow,
  describeValue,
  encodeRow,
  type Family,
  familyRange,
  isColumn,
  isFamily,
  isShortText,
  isTable,
  type KeyOf,
  lendRow,
  lentRow,
  limits,
  parsePath,
  type QualifierRange,
  qualifierBytes,
  type RowOf,
  type TableDefinition,
  valueErrorAt,
} from "../../schema/index.js";
import { type MaybePromise, pages } from "../../store/index.js";
import { checkRows, notAColumn } from "../argument-errors.js";
import type { WriteBuffer } from "../buffer.js";
import type { CommittedCell } from "../cell/committed.js";
import { endOfColumns, firstColumn } from "../cell/user-columns.js";
import type { TransactionContext } from "../context.js";
import { buildRow } from "./build-row.js";
import { mergeCells } from "./merge.js";
import { PagedIterator } from "./paged-iterator.js";
import type { ReadRecorder } from "./read-recorder.js";
import type { SnapshotReader } from "./reader.js";
import { RowScan, type RowScanRequest } from "./row-scan.js";
import {
  type ScanItem,
  type Scannable,
  type ScanOptions,
  scanRange,
  scanTarget,
  type ValueOfScanned,
} from "./scan-target.js";
import { notLent } from "./zero-copy-reader.js";

/** Selects cells of a family, in the order of their qualifiers' bytes. */
export interface EntriesOptions extends QualifierRange {
  /** The maximum number of entries. Default: no limit. */
  readonly limit?: number | undefined;
}

/** A cell of a family, as the method `entries` yields it. */
export interface Entry<V> {
  readonly qualifier: string;
  readonly value: V;
}

const entriesOptions: OptionNames<EntriesOptions> = {
  prefix: true,
  start: true,
  end: true,
  after: true,
  limit: true,
};
const scanOptions: OptionNames<ScanOptions<unknown>> = { ...entriesOptions, reverse: true };

/** Cells of the first page of `entries`. Few, because the caller may stop early. */
const firstEntries = 64;
/** Cells of each later page, and of each page that reads a whole row. */
const entriesPage = 1_000;
/** Pending reads of `getMany` at the same time. */
const rowsAtOnce = 256;

/**
 * The typed reads that transactions and snapshots share, all as of one start timestamp. A view
 * encodes keys, adds the transaction's own writes, and decodes what `SnapshotReader` returns.
 */
export abstract class View {
  readonly #context: TransactionContext;
  readonly #reader: SnapshotReader;
  readonly #buffer: WriteBuffer | undefined;
  readonly #recorder: ReadRecorder | undefined;

  /** @internal */
  constructor(
    context: TransactionContext,
    reader: SnapshotReader,
    buffer: WriteBuffer | undefined,
    recorder: ReadRecorder | undefined,
  ) {
    this.#context = context;
    this.#reader = reader;
    this.#buffer = buffer;
    this.#recorder = recorder;
  }

  /** Throws unless reading is still allowed. */
  protected abstract assertReadable(): void;

  /**
   * Called with each pending answer. A transaction overrides it to count calls that must end before
   * it commits.
   */
  protected underWay<T>(call: Promise<T>): Promise<T> {
    return call;
  }

  /**
   * The value of a cell, or `undefined` if the cell is absent or deleted.
   * @throws StaleSnapshotError if garbage collection has passed the start timestamp.
   */
  get<V, K>(column: Column<V, K>, row: NoInfer<K>): Promise<V | undefined> {
    const value = this.#read(column, row);
    return value instanceof Promise ? this.underWay(value) : Promise.resolve(value);
  }

  /**
   * Like {@link get}, but without a promise if the store has the value at once. Reports every
   * failure as a rejection.
   */
  #read<V, K>(column: Column<V, K>, row: K): MaybePromise<V | undefined> {
    try {
      this.assertReadable();
      if (!isColumn(column)) throw notAColumn("get", column);
      if (!this.#context.schemas.known(column.table)) return this.#readUnknown(column, row);
      const value = this.#readCell(column, row);
      if (!(value instanceof Promise)) return value;
      return value.catch((error: unknown) => Promise.reject(valueErrorAt(column, row, error)));
    } catch (error) {
      return Promise.reject(valueErrorAt(column, row, error));
    }
  }

  #readCell<V, K>(column: Column<V, K>, row: K): MaybePromise<V | undefined> {
    const { table, path, codec } = column;
    const { name } = table;
    let rowBytes: Uint8Array | undefined;
    if (this.#buffer?.hasWrites) {
      rowBytes = encodeRow(table, row);
      const own = this.#buffer.get({ table: name, row: rowBytes, column: path });
      if (own !== undefined) return own.value === undefined ? undefined : decodeValue(column, row, own.value);
    }
    const decode = codec.decodeRange ?? decodeCopy(codec);
    const { lent } = this.#reader;
    if (lent !== undefined) {
      if (rowBytes === undefined && isShortText(table, row)) {
        const value = lent.textValue(name, row, path, decode);
        if (value !== notLent) return value;
      }
      const length = rowBytes === undefined ? lendRow(table, row) : rowBytes.length;
      const value = length < 0 ? notLent : lent.value(name, rowBytes ?? lentRow, length, path, decode);
      if (value !== notLent) return value;
    }
    rowBytes ??= encodeRow(table, row);
    return this.#reader.value(name, rowBytes, [{ exact: path }], decode);
  }

  async #readUnknown<V, K>(column: Column<V, K>, row: K): Promise<V | undefined> {
    await this.#context.schemas.record([column.table]);
    return this.#read(column, row);
  }

  /**
   * The values of a column in several rows, in the order of `rows`. `undefined` for each row
   * without a value.
   * @throws InvalidArgumentError if `rows` is a string, whose characters would count as rows.
   */
  getMany<V, K>(column: Column<V, K>, rows: Iterable<NoInfer<K>>): Promise<(V | undefined)[]> {
    return this.underWay(this.#readMany(column, rows));
  }

  async #readMany<V, K>(column: Column<V, K>, rows: Iterable<K>): Promise<(V | undefined)[]> {
    checkRows(rows);
    const values: MaybePromise<V | undefined>[] = [];
    /** Index of the first value that is still a promise, or -1. */
    let waiting = -1;
    for (const row of rows) {
      const value = this.#read(column, row);
      values.push(value);
      if (value instanceof Promise) {
        // `rows` may throw before anybody waits for this value.
        value.catch(() => {});
        if (waiting < 0) waiting = values.length - 1;
      }
      if (waiting < 0 || values.length - waiting < rowsAtOnce) continue;
      await settle(values, waiting);
      waiting = -1;
    }
    if (waiting >= 0) await settle(values, waiting);
    return values as (V | undefined)[];
  }

  /**
   * A row with all its columns and families, or `undefined` if the row has no cells. It is an object
   * without a prototype.
   */
  row<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<RowOf<T> | undefined> {
    return this.underWay(this.#row(table, row));
  }

  async #row<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<RowOf<T> | undefined> {
    const defined = await this.#useTable(table);
    const rowBytes = encodeRow(defined, row);
    const cells = await this.userCells(defined.name, rowBytes);
    return cells.length === 0 ? undefined : buildRow<T>(defined, row, cells);
  }

  /** Every user cell of a row, with the transaction's own writes applied. */
  protected async userCells(table: string, row: Uint8Array): Promise<readonly CommittedCell[]> {
    const cells: CommittedCell[] = [];
    const read = (start = firstColumn) =>
      this.#reader.row(table, row, [{ start, end: endOfColumns }], entriesPage);
    for await (const page of pages(read)) cells.push(...page.cells);
    return this.#withOwn(table, row, firstColumn, endOfColumns, cells);
  }

  /** Merges the cells from column `start` to column `end` with the transaction's own writes to them. */
  #withOwn(
    table: string,
    row: Uint8Array,
    start: Uint8Array,
    end: Uint8Array,
    cells: readonly CommittedCell[],
  ): readonly CommittedCell[] {
    const own = this.#buffer?.between(table, { row, column: start }, { row, column: end }) ?? [];
    return mergeCells(cells, own).filter((cell) => !cell.isDeleted);
  }

  /**
   * The cells of a family in one row, in qualifier order.
   * @example
   * for await (const { qualifier, value } of tx.entries(users.emails, "alice")) {
   *   console.log(qualifier, value);
   * }
   */
  entries<V, K>(
    family: Family<V, K>,
    row: NoInfer<K>,
    options: EntriesOptions = {},
  ): AsyncIterableIterator<Entry<V>> {
    this.assertReadable();
    if (!isFamily(family)) throw notAColumn("entries", family);
    checkOptionNames("entries", options, entriesOptions);
    const limit = checkLimit(options.limit);
    const { table, name } = family;
    const rowBytes = encodeRow(table, row);
    const range = familyRange(name, options);
    const empty = Buffer.compare(range.start, range.end) >= 0;
    let next: Uint8Array | undefined = empty ? undefined : range.start;
    let pageSize = Math.min(firstEntries, limit);
    let shown = 0;
    const nextPage = async () => {
      if (next === undefined) return undefined;
      this.assertReadable();
      if (!this.#context.schemas.known(table)) await this.#context.schemas.record([table]);
      const start = next;
      const page = await this.#reader.row(table.name, rowBytes, [{ start, end: range.end }], pageSize);
      next = page.next;
      const cells = this.#withOwn(table.name, rowBytes, start, next ?? range.end, page.cells);
      shown += cells.length;
      // Many deleted cells may follow a deleted one, so pages then grow.
      const atLeast = cells.length < pageSize ? pageSize * 4 : 1;
      pageSize = Math.min(entriesPage, Math.max(atLeast, limit - shown));
      return { rows: cells };
    };
    const convert = (cell: CommittedCell): Entry<V> => ({
      qualifier: parsePath(cell.column).qualifier!,
      value: decodeValue(family.at(parsePath(cell.column).qualifier!), row, cell.value!),
    });
    return new PagedIterator(() => this.underWay(nextPage()), convert, limit);
  }

  /**
   * The rows of a column, family or table in key order. A column yields rows that have a value in
   * it. A family yields rows that have a cell in it, with those cells by qualifier. A table yields
   * all rows, whole.
   * @example
   * for await (const { row, value } of tx.scan(accounts.balance, { prefix: "a" })) sum += value;
   */
  scan<T extends Scannable>(
    target: T,
    options: ScanOptions<KeyOf<T>> = {},
  ): AsyncIterableIterator<ScanItem<KeyOf<T>, ValueOfScanned<T>>> {
    return this.#scan(target, options as ScanOptions<unknown>) as AsyncIterableIterator<
      ScanItem<KeyOf<T>, ValueOfScanned<T>>
    >;
  }

  #scan(target: unknown, options: ScanOptions<unknown>): AsyncIterableIterator<ScanItem<unknown, unknown>> {
    this.assertReadable();
    checkOptionNames("scan", options, scanOptions);
    const limit = checkLimit(options.limit);
    const { table, columns, convert, lent } = scanTarget(target);
    const range = scanRange(table, options);
    if (range === undefined) return new PagedIterator(async () => undefined, convert, 0);
    const request: RowScanRequest<ScanItem<unknown, unknown>> = {
      table: table.name,
      ...range,
      columns,
      reverse: options.reverse ?? false,
      limit,
      lent,
    };
    let scan: RowScan<ScanItem<unknown, unknown>> | undefined;
    const nextPage = async () => {
      this.assertReadable();
      if (scan === undefined) {
        if (!this.#context.schemas.known(table)) await this.#context.schemas.record([table]);
        scan = new RowScan(this.#reader, this.#buffer, this.#recorder, request);
      }
      return scan.next();
    };
    return new PagedIterator(() => this.underWay(nextPage()), convert, limit);
  }

  async #useTable(table: AnyTable): Promise<TableDefinition> {
    this.assertReadable();
    if (!isTable(table))
      throw new SchemaError("This is not a table. Create tables with `table(name, columns)`.");
    const defined = table[definition];
    if (!this.#context.schemas.known(defined)) await this.#context.schemas.record([defined]);
    return defined;
  }
}

function checkLimit(limit: number | undefined): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (Number.isInteger(limit) && limit >= 0) return limit;
  throw new InvalidArgumentError(
    `\`limit\` must be a whole number of 0 or more, not ${describeValue(limit)}.`,
  );
}

/** Replaces each promise from `start` on with its answer. */
async function settle<V>(values: MaybePromise<V>[], start: number): Promise<void> {
  const answers = await Promise.all(values.slice(start));
  for (let index = 0; index < answers.length; index++) values[start + index] = answers[index]!;
}

/** Decodes with a codec that has no `decodeRange`, from a view of the bytes. */
function decodeCopy<V>(codec: {
  decode(bytes: Uint8Array): V;
}): (bytes: Buffer, start: number, end: number) => V {
  return (bytes, start, end) => codec.decode(bytes.subarray(start, end));
}

/** Encodes a row for one of its cells and checks the length of the cell's key. */
export function encodeCellRow<K>(column: Column<unknown, K>, row: K): Uint8Array {
  const rowBytes = encodeRow(column.table, row);
  // The path contains the qualifier, so short keys need no array for the qualifier alone.
  if ((rowBytes.length + column.path.length) * 2 > limits.keyBytes) {
    checkCellKey(rowBytes, qualifierBytes(column.path), () => {
      return `${column.table.name}.${column.name}, row ${describeRow(row)}`;
    });
  }
  return rowBytes;
}
