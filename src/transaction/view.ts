import { InvalidArgumentError, SchemaError } from "../errors/index.js";
import {
  type AnyTable,
  type Column,
  checkCellKey,
  decodeRow,
  decodeValue,
  definition,
  describeRow,
  encodePrefix,
  encodeRow,
  type Family,
  familyRange,
  isColumn,
  isFamily,
  isSignal,
  isTable,
  type KeyOf,
  type KeyPrefix,
  parsePath,
  prefixEnd,
  type QualifierRange,
  qualifierBytes,
  type RowOf,
  type TableDefinition,
  valueErrorAt,
} from "../schema/index.js";
import type { Columns, MaybePromise } from "../store/index.js";
import type { WriteBuffer } from "./buffer.js";
import { buildRow, familyMap } from "./build-row.js";
import type { CommittedCell, CommittedRow } from "./committed.js";
import type { TransactionContext } from "./context.js";
import { isSelected, mergeCells } from "./merge.js";
import type { ReadRecorder, SnapshotReader } from "./reader.js";
import { RowScan, type RowScanRequest } from "./row-scan.js";
import { PagedIterator } from "./typed-scan.js";

/** Which rows a scan is about, and how. All together narrow it. */
export interface ScanOptions<K> {
  /** Keys that begin so: the start of a string, or the leading parts of a tuple. */
  readonly prefix?: KeyPrefix<K> | undefined;
  /** First key, inclusive. Default: the first of the table. */
  readonly start?: K | undefined;
  /** Key after the last. Default: none. */
  readonly end?: K | undefined;
  /** Descending. Default: false. */
  readonly reverse?: boolean | undefined;
  /** The most items. Default: no limit. */
  readonly limit?: number | undefined;
}

/** Which cells of a family, in the order of the qualifiers' bytes. */
export interface EntriesOptions extends QualifierRange {
  /** The most entries. Default: no limit. */
  readonly limit?: number | undefined;
}

/** A row with the value of the column that was scanned, or with its cells where a table was. */
export interface ScanItem<K, V> {
  readonly row: K;
  readonly value: V;
}

/** A cell of a family, as `entries` gives it. */
export interface Entry<V> {
  readonly qualifier: string;
  readonly value: V;
}

/** Every column of a user: the protocol's own stand after them. */
const firstColumn: Uint8Array = new Uint8Array(0);
const endOfColumns: Uint8Array = Buffer.from("~");
export const userColumns: Columns = [{ start: firstColumn, end: endOfColumns }];
const firstEntries = 64;
const entriesPage = 1_000;
const rowsAtOnce = 256;

/** What a transaction and a snapshot have in common: reading as of one start timestamp. */
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
   * The value of a cell, `undefined` where nothing is.
   *
   * @throws StaleSnapshotError if collection has passed the start timestamp.
   */
  get<V, K>(column: Column<V, K>, row: NoInfer<K>): Promise<V | undefined> {
    return Promise.resolve(this.#read(column, row));
  }

  /** As {@link get}; a value that the store has at once is given at once. What goes wrong is always a rejection. */
  #read<V, K>(column: Column<V, K>, row: K): MaybePromise<V | undefined> {
    try {
      this.assertReadable();
      if (!isColumn(column)) throw notAColumn("get", column);
      const { table, path, codec } = column;
      if (!this.#context.schemas.known(table)) return this.#readUnknown(column, row);
      const rowBytes = encodeRow(table, row);
      if (this.#buffer?.hasWrites) {
        const own = this.#buffer.get({ table: table.name, row: rowBytes, column: path });
        if (own !== undefined) {
          return own.value === undefined ? undefined : decodeValue(column, row, own.value);
        }
      }
      const columns = [{ exact: path }];
      const decode = codec.decodeRange ?? decodeCopy(codec);
      const value = this.#reader.value(table.name, rowBytes, columns, decode);
      if (!(value instanceof Promise)) return value;
      return value.catch((error: unknown) => Promise.reject(valueErrorAt(column, row, error)));
    } catch (error) {
      return Promise.reject(valueErrorAt(column, row, error));
    }
  }

  async #readUnknown<V, K>(column: Column<V, K>, row: K): Promise<V | undefined> {
    await this.#context.schemas.record([column.table]);
    return this.#read(column, row);
  }

  /** The values of a column in several rows, in the order of `rows`. */
  async getMany<V, K>(column: Column<V, K>, rows: Iterable<NoInfer<K>>): Promise<(V | undefined)[]> {
    const values: (V | undefined)[] = [];
    let asked: MaybePromise<V | undefined>[] = [];
    for (const row of rows) {
      asked.push(this.#read(column, row));
      if (asked.length < rowsAtOnce) continue;
      await moveAnswers(asked, values);
      asked = [];
    }
    await moveAnswers(asked, values);
    return values;
  }

  /** A row with all its columns and families; `undefined` where it has none. */
  async row<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<RowOf<T> | undefined> {
    const defined = await this.#useTable(table);
    const rowBytes = encodeRow(defined, row);
    const cells = await this.userCells(defined.name, rowBytes);
    return cells.length === 0 ? undefined : buildRow<T>(defined, row, cells);
  }

  /** Every cell that the user put in a row, own writes laid over. */
  protected async userCells(table: string, row: Uint8Array): Promise<readonly CommittedCell[]> {
    const cells: CommittedCell[] = [];
    let start: Uint8Array | undefined = firstColumn;
    while (start !== undefined) {
      const columns: Columns = [{ start, end: endOfColumns }];
      const page = await this.#reader.row(table, row, columns, entriesPage);
      cells.push(...page.cells);
      start = page.next;
    }
    return this.#withOwn(table, row, userColumns, cells);
  }

  #withOwn(
    table: string,
    row: Uint8Array,
    columns: Columns,
    cells: readonly CommittedCell[],
  ): readonly CommittedCell[] {
    const own = this.#buffer?.hasWrites
      ? this.#buffer
          .ofTable(table)
          .filter((write) => Buffer.compare(write.row, row) === 0 && isSelected(columns, write.column))
      : [];
    return mergeCells(cells, own).filter((cell) => !cell.isDeleted);
  }

  /** The cells of a family in one row, by qualifier. */
  entries<V, K>(
    family: Family<V, K>,
    row: NoInfer<K>,
    options: EntriesOptions = {},
  ): AsyncIterableIterator<Entry<V>> {
    this.assertReadable();
    if (!isFamily(family)) throw notAColumn("entries", family);
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
      const page = await this.#reader.row(table.name, rowBytes, [{ start: next, end: range.end }], pageSize);
      const covered: Columns = [{ start: next, end: page.next ?? range.end }];
      next = page.next;
      const cells = this.#withOwn(table.name, rowBytes, covered, page.cells);
      shown += cells.length;
      pageSize = Math.max(1, Math.min(entriesPage, limit - shown));
      return cells;
    };
    const convert = (cell: CommittedCell): Entry<V> => ({
      qualifier: parsePath(cell.column).qualifier!,
      value: decodeValue(family.at(parsePath(cell.column).qualifier!), row, cell.value!),
    });
    return new PagedIterator(nextPage, convert, limit);
  }

  /** The rows in which a column has a value, in the keys' order. */
  scan<V, K>(column: Column<V, K>, options?: ScanOptions<K>): AsyncIterableIterator<ScanItem<K, V>>;
  /** The rows in which a family has a cell, with their cells by qualifier. */
  scan<V, K>(
    family: Family<V, K>,
    options?: ScanOptions<K>,
  ): AsyncIterableIterator<ScanItem<K, ReadonlyMap<string, V>>>;
  /** The rows of a table. */
  scan<T extends AnyTable>(
    table: T,
    options?: ScanOptions<KeyOf<T>>,
  ): AsyncIterableIterator<ScanItem<KeyOf<T>, RowOf<T>>>;
  scan(
    target: unknown,
    options: ScanOptions<unknown> = {},
  ): AsyncIterableIterator<ScanItem<unknown, unknown>> {
    this.assertReadable();
    const limit = checkLimit(options.limit);
    const { table, columns, convert } = scanTarget(target);
    const range = scanRange(table, options);
    if (range === undefined) return new PagedIterator(async () => undefined, convert, 0);
    const request: RowScanRequest = {
      table: table.name,
      ...range,
      columns,
      reverse: options.reverse ?? false,
      limit,
    };
    let scan: RowScan | undefined;
    const nextPage = async () => {
      this.assertReadable();
      if (scan === undefined) {
        if (!this.#context.schemas.known(table)) await this.#context.schemas.record([table]);
        scan = new RowScan(this.#reader, this.#buffer, this.#recorder, request);
      }
      return scan.next();
    };
    return new PagedIterator(nextPage, convert, limit);
  }

  async #useTable(table: AnyTable): Promise<TableDefinition> {
    this.assertReadable();
    if (!isTable(table))
      throw new SchemaError("This is not a table: make tables with `table(name, columns)`.");
    const defined = table[definition];
    if (!this.#context.schemas.known(defined)) await this.#context.schemas.record([defined]);
    return defined;
  }
}

interface ScanTarget {
  readonly table: TableDefinition;
  readonly columns: Columns;
  readonly convert: (row: CommittedRow) => ScanItem<unknown, unknown>;
}

function scanTarget(target: unknown): ScanTarget {
  if (isColumn(target)) {
    const { table } = target;
    const convert = (found: CommittedRow) => {
      const row = decodeRow(table, found.row);
      return { row, value: decodeCell(target, row, found.cells[0]!) };
    };
    return { table, columns: [{ exact: target.path }], convert };
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

/** The value of a cell that is not deleted, without a view of its bytes where the codec can do without. */
function decodeCell<V>(column: Column<V, unknown>, row: unknown, cell: CommittedCell): V {
  const { codec } = column;
  if (codec.decodeRange === undefined) return decodeValue(column, row, cell.value!);
  try {
    return codec.decodeRange(cell.source!, cell.from, cell.source!.length);
  } catch (error) {
    throw valueErrorAt(column, row, error);
  }
}

/** The bytes of a scan's rows; undefined where no row can be among them. */
function scanRange(
  table: TableDefinition,
  options: ScanOptions<unknown>,
): { readonly start: Uint8Array | undefined; readonly end: Uint8Array | undefined } | undefined {
  let start = options.start === undefined ? undefined : encodeRow(table, options.start);
  let end = options.end === undefined ? undefined : encodeRow(table, options.end);
  if (options.prefix !== undefined) {
    const prefix = encodePrefix(table, options.prefix);
    const prefixLimit = prefixEnd(prefix);
    if (start === undefined || Buffer.compare(start, prefix) < 0) start = prefix;
    if (end === undefined || (prefixLimit !== undefined && Buffer.compare(prefixLimit, end) < 0))
      end = prefixLimit;
  }
  if (start !== undefined && end !== undefined && Buffer.compare(start, end) >= 0) return undefined;
  return { start, end };
}

function checkLimit(limit: number | undefined): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (Number.isInteger(limit) && limit >= 0) return limit;
  throw new InvalidArgumentError(`\`limit\` must be a whole number of 0 or more, not ${String(limit)}.`);
}

/** Puts answers behind `values`; waits only where one is still to come. */
function moveAnswers<V>(asked: readonly MaybePromise<V>[], values: V[]): MaybePromise<void> {
  if (asked.some((answer) => answer instanceof Promise)) {
    return Promise.all(asked).then((answers) => {
      for (const answer of answers) values.push(answer);
    });
  }
  for (const answer of asked) values.push(answer as V);
}

/** Values of codecs without the fast path are decoded from a view of the bytes. */
function decodeCopy<V>(codec: {
  decode(bytes: Uint8Array): V;
}): (bytes: Buffer, start: number, end: number) => V {
  return (bytes, start, end) => codec.decode(bytes.subarray(start, end));
}

/** The error for something that is not what a call takes. */
export function notAColumn(call: string, given: unknown): SchemaError {
  const wanted =
    call === "entries" ? "a family" : call === "scan" ? "a column, a family or a table" : "a column";
  if (isSignal(given)) {
    return new SchemaError(
      `\`${call}\` takes ${wanted}, and ${given.table.name}.${given.name} is a signal: signals are only notified.`,
    );
  }
  if (isFamily(given)) {
    const { table, name } = given;
    return new SchemaError(
      `\`${call}\` takes ${wanted}, and ${table.name}.${name} is a family: name a cell of it by \`.at(qualifier)\`.`,
    );
  }
  return new SchemaError(`\`${call}\` takes ${wanted} of a table made with \`table(name, columns)\`.`);
}

/** The bytes of a row for a cell of it, checked against the limit. */
export function encodeCellRow<K>(column: Column<unknown, K>, row: K): Uint8Array {
  const rowBytes = encodeRow(column.table, row);
  checkCellKey(rowBytes, qualifierBytes(column.path), () => {
    return `${column.table.name}.${column.name}, row ${describeRow(row)}`;
  });
  return rowBytes;
}
