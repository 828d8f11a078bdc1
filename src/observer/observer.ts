import type { Backoff } from "../environment/index.js";
import { ObserverError } from "../errors/index.js";
import {
  type AnyColumn,
  type Column,
  checkName,
  describeNonFunction,
  describeValue,
  type Family,
  isColumn,
  isFamily,
  isSignal,
  type Signal,
} from "../schema/index.js";
import type { Isolation, Transaction } from "../transaction/index.js";
import type { Change, ColumnChange, FamilyChange, RowChange, SignalChange } from "./change.js";
import {
  type BatchOptions,
  type CheckedOptions,
  checkBatchOptions,
  checkOptions,
  type ObserverOptions,
} from "./options.js";

// Symbol.for instead of instanceof, since two copies of the package may be loaded in one program.
const brand = Symbol.for("percolatordb.observer");

/** What a program does with each change of a column. Made by {@link observer}. */
export interface Observer {
  readonly name: string;
  /** The column, family or signal that it watches. */
  readonly target: AnyColumn;
  readonly attempts: number;
  readonly backoff: Backoff;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly isolation: Isolation;
  readonly priority: number;
  readonly version: number;
  /**
   * The most changes of a run, for a {@link batchObserver}. Undefined if a run handles one change.
   * @internal
   */
  readonly batch: number | undefined;
  /**
   * Gets an array of changes instead if there is a {@link batch}.
   * @internal
   */
  readonly run: (tx: Transaction, change: Change) => unknown;
  /**
   * Itself and the observers that share its runs: those of one call of {@link rowObservers}.
   * Undefined for an observer of its own.
   * @internal
   */
  readonly group: readonly Observer[] | undefined;
}

// Most observers watch a column, and TypeScript explains only why the last overload does not fit.
export function observer<K>(
  name: string,
  signal: Signal<K>,
  run: (tx: Transaction, change: SignalChange<K>) => unknown,
  options?: ObserverOptions,
): Observer;
export function observer<V, K>(
  name: string,
  family: Family<V, K>,
  run: (tx: Transaction, change: FamilyChange<V, K>) => unknown,
  options?: ObserverOptions,
): Observer;
/**
 * Declares what a program does with each change of a column, a family or a signal (the paper,
 * section 2.4). `run` gets a transaction and the change. The run's writes commit together with the
 * record that the change was handled. On a column or family, exactly one run therefore commits per
 * change, however many runs begin. On a signal, a run commits at least once after each
 * notification.
 *
 * Several changes before a run count as one. A run that throws is repeated with backoff. After
 * `attempts` failed runs, the change is parked. A declaration touches no database: pass observers
 * to `open`.
 *
 * @throws ObserverError for an invalid option.
 * @throws SchemaError for an invalid name.
 *
 * @example
 * const titles = observer("titles", documents.contents, (tx, { row, value }) => {
 *   if (value === undefined) return tx.delete(documents.title, row);
 *   tx.set(documents.title, row, titleOf(value));
 * });
 */
export function observer<V, K>(
  name: string,
  column: Column<V, K>,
  run: (tx: Transaction, change: ColumnChange<V, K>) => unknown,
  options?: ObserverOptions,
): Observer;
export function observer(
  name: string,
  target: unknown,
  run: unknown,
  options: ObserverOptions = {},
): Observer {
  return declare(name, target, run, checkOptions(name, options));
}

export function batchObserver<K>(
  name: string,
  signal: Signal<K>,
  run: (tx: Transaction, changes: readonly SignalChange<K>[]) => unknown,
  options?: BatchOptions,
): Observer;
export function batchObserver<V, K>(
  name: string,
  family: Family<V, K>,
  run: (tx: Transaction, changes: readonly FamilyChange<V, K>[]) => unknown,
  options?: BatchOptions,
): Observer;
/**
 * Declares an observer whose runs handle several changes in one transaction: up to `batch` of those
 * that are due. Changes gather while runs are in progress, so a batch is small if little is due. Use
 * it where many changes cost little more than one: to combine them before writing, or to send them to
 * another system in one request.
 *
 * `run` gets the changes of different cells, in no particular order, at least one. Otherwise all is as
 * with {@link observer}: exactly one committed run handles a change. If a run throws, none of its
 * changes is handled, and they run again in batches of half the size. So only a change that fails
 * alone counts as failed, and is parked in the end. After a conflict, the next batch is smaller.
 *
 * @throws ObserverError for an invalid option.
 * @throws SchemaError for an invalid name.
 *
 * @example
 * const counts = batchObserver("counts", orders.region, async (tx, changes) => {
 *   const added = new Map<string, number>();
 *   for (const { value, previous } of changes) {
 *     if (value !== undefined) added.set(value, (added.get(value) ?? 0) + 1);
 *     if (previous !== undefined) added.set(previous, (added.get(previous) ?? 0) - 1);
 *   }
 *   for (const [region, n] of added) {
 *     tx.set(regions.orders, region, ((await tx.get(regions.orders, region)) ?? 0) + n);
 *   }
 * });
 */
export function batchObserver<V, K>(
  name: string,
  column: Column<V, K>,
  run: (tx: Transaction, changes: readonly ColumnChange<V, K>[]) => unknown,
  options?: BatchOptions,
): Observer;
export function batchObserver(
  name: string,
  target: unknown,
  run: unknown,
  options: BatchOptions = {},
): Observer {
  return declare(name, target, run, checkBatchOptions(name, options));
}

/** The most columns whose observers share their runs. A run reads what is recorded of each. */
const maxColumns = 100;

/**
 * Declares an observer for each of several columns or families of a table. They share their runs: a
 * run on a row handles the changes of all these columns, so a transaction that changes ten of them
 * causes one run, not ten. Each changed cell of a family has a run of its own, for this cell only.
 *
 * `run` gets the row's key, and reads what it needs. It must do the same whichever column has
 * changed. Otherwise all is as with {@link observer}: exactly one committed run handles a change, and
 * several changes before a run count as one. `concurrency` counts the runs of all of them. Each
 * observer is named after its column, `NAME-COLUMN`. A run counts for one of the observers whose
 * changes it handles.
 *
 * @throws ObserverError for an invalid option, or if the columns are not those of one table.
 * @throws SchemaError for an invalid name.
 *
 * @example
 * const summaries = rowObservers("summary", [documents.title, documents.author], async (tx, { row }) => {
 *   const { title, author } = (await tx.row(documents, row)) ?? {};
 *   tx.set(documents.summary, row, `${title} by ${author}`);
 * });
 * await using db = await open("./data", { tables: [documents], observers: summaries });
 */
export function rowObservers<K>(
  name: string,
  columns: readonly (Column<unknown, K> | Family<unknown, K>)[],
  run: (tx: Transaction, change: RowChange<K>) => unknown,
  options: ObserverOptions = {},
): readonly Observer[] {
  return declareGroup(name, columns, run, (each) => checkOptions(each, options));
}

/**
 * As {@link rowObservers}, with runs that handle several rows in one transaction, as those of a
 * {@link batchObserver} handle several changes. `run` gets each row once.
 *
 * @throws ObserverError for an invalid option, or if the columns are not those of one table.
 * @throws SchemaError for an invalid name.
 *
 * @example
 * const totals = batchRowObservers("totals", [orders.customer, orders.amount], async (tx, changes) => {
 *   const rows = await Promise.all(changes.map(({ row }) => tx.row(orders, row)));
 *   // Adds up the rows of each customer, and writes each customer once.
 * });
 */
export function batchRowObservers<K>(
  name: string,
  columns: readonly (Column<unknown, K> | Family<unknown, K>)[],
  run: (tx: Transaction, changes: readonly RowChange<K>[]) => unknown,
  options: BatchOptions = {},
): readonly Observer[] {
  return declareGroup(name, columns, run, (each) => checkBatchOptions(each, options));
}

function declareGroup<K>(
  name: string,
  columns: readonly (Column<unknown, K> | Family<unknown, K>)[],
  run: unknown,
  optionsOf: (observer: string) => CheckedOptions & { readonly batch?: number },
): readonly Observer[] {
  checkName("observer", name);
  checkColumns(name, columns);
  const group: Observer[] = [];
  for (const column of columns) {
    const each = `${name}-${column.name}`;
    group.push(declare(each, column, run, optionsOf(each), group));
  }
  return Object.freeze(group);
}

function declare(
  name: string,
  target: unknown,
  run: unknown,
  options: CheckedOptions & { readonly batch?: number },
  group?: readonly Observer[],
): Observer {
  checkName("observer", name);
  checkTarget(name, target);
  const given = describeNonFunction(run);
  if (given !== undefined) {
    throw new ObserverError(`Observer "${name}": \`run\` must be a function, not ${given}.`);
  }
  const { batch } = options;
  return Object.freeze({
    [brand]: true,
    name,
    target,
    run: run as Observer["run"],
    group,
    ...options,
    batch,
  });
}

function checkColumns(name: string, columns: readonly AnyColumn[]): void {
  if (!Array.isArray(columns) || columns.length === 0 || columns.length > maxColumns) {
    throw new ObserverError(
      `Row observers "${name}" need an array of 1 to ${maxColumns} columns or families of a table.`,
    );
  }
  const seen = new Set<string>();
  for (const column of columns as readonly unknown[]) {
    if (!isColumn(column) && !isFamily(column)) {
      throw new ObserverError(
        `Row observers "${name}" must watch columns or families of a table, not ${isSignal(column) ? `the signal ${column.name}` : describeValue(column)}.`,
      );
    }
    const first = columns[0] as AnyColumn;
    if (column.table.name !== first.table.name) {
      throw new ObserverError(
        `Row observers "${name}" must watch columns of one table, not of ${first.table.name} and ${column.table.name}: call ` +
          "`rowObservers` for each table.",
      );
    }
    if (seen.has(column.name)) {
      throw new ObserverError(`Row observers "${name}" watch ${column.name} twice: name it once.`);
    }
    seen.add(column.name);
  }
}

/** Whether {@link observer} created the value, in this or another copy of the package. */
export function isObserver(value: unknown): value is Observer {
  return typeof value === "object" && value !== null && brand in value;
}

function checkTarget(name: string, target: unknown): asserts target is AnyColumn {
  if (isFamily(target) || isSignal(target)) return;
  if (!isColumn(target)) {
    throw new ObserverError(
      `Observer "${name}" must watch a column, a family or a signal of a table, not ${describeValue(target)}.`,
    );
  }
  if (target.qualifier !== undefined) {
    throw new ObserverError(
      `Observer "${name}" cannot watch one cell of the family ${target.table.name}.${target.name}: watch the family, and ` +
        "look at the `qualifier` of each change.",
    );
  }
}
