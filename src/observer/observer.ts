import type { Backoff } from "../environment/index.js";
import { ObserverError } from "../errors/index.js";
import {
  type AnyColumn,
  type Column,
  checkName,
  describeValue,
  type Family,
  isColumn,
  isFamily,
  isSignal,
  type Signal,
} from "../schema/index.js";
import type { Isolation, Transaction } from "../transaction/index.js";
import type { Change, ColumnChange, FamilyChange, SignalChange } from "./change.js";
import { checkOptions, type ObserverOptions } from "./options.js";

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
  /** @internal */
  readonly run: (tx: Transaction, change: Change) => unknown;
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
  checkName("observer", name);
  checkTarget(name, target);
  if (typeof run !== "function") {
    throw new ObserverError(`Observer "${name}": \`run\` must be a function, not ${describeValue(run)}.`);
  }
  const checked = checkOptions(name, options);
  return Object.freeze({ [brand]: true, name, target, run: run as Observer["run"], ...checked });
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
