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

// Symbol.for, not instanceof: two copies of the package may meet in one program.
const brand = Symbol.for("percolatordb.observer");

/** What a program does with each change of a column. Made by {@link observer}. */
export interface Observer {
  readonly name: string;
  /** What it watches. */
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

/**
 * Declares what is to be done with each change of a column, a family or a signal (the paper,
 * section 2.4). `run` gets a transaction and the change; what it writes commits together with the
 * fact that the change was handled, so each change is handled exactly once, however often a run is
 * begun. Several changes before a run are one. A run that throws is run again with backoff; after
 * `attempts` the change is parked.
 *
 * On a column or family, commits happen exactly once per change; on a signal, runs happen at least
 * once after each notification. Declaring touches no database: give observers to `open`.
 *
 * @throws ObserverError for an option that cannot be meant; SchemaError for a bad name.
 *
 * @example const titles = observer("titles", documents.contents, (tx, { row, value }) => { if
 * (value === undefined) return tx.delete(documents.title, row); tx.set(documents.title, row,
 * titleOf(value)); });
 */
export function observer<V, K>(
  name: string,
  column: Column<V, K>,
  run: (tx: Transaction, change: ColumnChange<V, K>) => unknown,
  options?: ObserverOptions,
): Observer;
export function observer<V, K>(
  name: string,
  family: Family<V, K>,
  run: (tx: Transaction, change: FamilyChange<V, K>) => unknown,
  options?: ObserverOptions,
): Observer;
export function observer<K>(
  name: string,
  signal: Signal<K>,
  run: (tx: Transaction, change: SignalChange<K>) => unknown,
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

/** Whether this was made by {@link observer} (of whatever copy of the package). */
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
