import { InvalidArgumentError, SchemaError } from "../../errors/index.js";
import {
  type AnyTable,
  type Column,
  definition,
  describeValue,
  type Family,
  type FeedColumn,
  familyRange,
  isColumn,
  isFamily,
  isSignal,
  isTable,
  type KeyOf,
  type KeyPrefix,
  parsePath,
  type TableDefinition,
  tableColumns,
} from "../../schema/index.js";
import type { ColumnRange } from "../../store/index.js";
import {
  type BufferedWrite,
  contains,
  isSelected,
  type RowRange,
  scanRange,
} from "../../transaction/index.js";
import type { CellChange, FeedChange } from "../feed/feed-change.js";

/** What `db.watch` takes: a column, a family, one cell of each row's family, or a table. */
export type Watchable = Column<unknown, unknown> | Family<unknown, unknown> | AnyTable;

/** A change that `db.watch` tells of a target of type `T`. */
export type WatchedChange<T extends Watchable = Watchable> = T extends FeedColumn
  ? FeedChange<T>
  : T extends AnyTable
    ? CellChange<KeyOf<T>>
    : never;

/** The options of `db.watch`. Each has a default. */
export interface WatchOptions<K = unknown> {
  /**
   * Only rows whose keys have this prefix: the start of a string, or the leading parts of a tuple.
   * Default: all rows.
   */
  readonly prefix?: KeyPrefix<K> | undefined;
  /**
   * Only changes of transactions that committed after this timestamp or moment, which must lie
   * within the retention of the database. Default: the moment of the first `next`.
   */
  readonly since?: number | Date | undefined;
  /** Ends the wait for changes: `next` then rejects. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** Which cells are watched. */
export class WatchTarget {
  readonly table: TableDefinition;
  /** The columns and families of which changes are told. */
  readonly columns: readonly FeedColumn[];
  readonly rows: RowRange;
  readonly #selected: readonly ColumnRange[] | undefined;
  readonly #names: ReadonlySet<string>;

  constructor(target: unknown, prefix: unknown) {
    const found = resolve(target);
    this.table = found.table;
    this.columns = found.columns;
    this.#selected = found.selected;
    this.#names = new Set(found.columns.map(({ name }) => name));
    const range = scanRange(this.table, { prefix } as never);
    if (range === undefined) {
      throw new InvalidArgumentError(`No row of ${this.table.name} can have the given \`prefix\`.`);
    }
    this.rows = { table: this.table.name, ...range };
  }

  /** The same for targets with the same cells. */
  get id(): string {
    const { table, start, end } = this.rows;
    return JSON.stringify([table, start, end, this.#selected, [...this.#names]]);
  }

  /** The changes of a transaction that are watched. */
  of(writes: readonly BufferedWrite[]): readonly BufferedWrite[] {
    return writes.filter(
      ({ row, column }) => this.isColumn(column) && contains(this.rows, this.table.name, row),
    );
  }

  /** Whether a column is watched. Those of the protocol, and those that the table lacks, are not. */
  isColumn(column: Uint8Array): boolean {
    if (this.#selected !== undefined) return isSelected(this.#selected, column);
    return this.#names.has(parsePath(column).name);
  }
}

function resolve(target: unknown): {
  readonly table: TableDefinition;
  readonly columns: readonly FeedColumn[];
  readonly selected: readonly ColumnRange[] | undefined;
} {
  if (isTable(target)) {
    const columns = tableColumns(target).filter((column): column is FeedColumn => column.kind !== "signal");
    return { table: target[definition], columns, selected: undefined };
  }
  if (isColumn(target)) return { table: target.table, columns: [target], selected: [{ exact: target.path }] };
  if (isFamily(target)) {
    return { table: target.table, columns: [target], selected: [familyRange(target.name)] };
  }
  if (isSignal(target)) {
    throw new SchemaError(
      `\`db.watch\` cannot watch the signal ${target.table.name}.${target.name}: a signal has no value. Watch a column.`,
    );
  }
  throw new SchemaError(
    `\`db.watch\` takes a column, a family or a table, not ${describeValue(target)}. Create tables with \`table(name, columns)\`.`,
  );
}
