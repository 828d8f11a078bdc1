import { SchemaError, UnawaitedCallError } from "../errors/index.js";
import {
  type AnyTable,
  type Column,
  definition,
  encodeRow,
  encodeValue,
  isColumn,
  isSignal,
  isTable,
  type KeyOf,
  type Signal,
  type TableDefinition,
} from "../schema/index.js";
import { notAColumn } from "./argument-errors.js";
import { systemCell } from "./cell/system.js";
import type { CoreTransaction } from "./core.js";
import { encodeCellRow, View } from "./read/view.js";

/**
 * Turns of the microtask queue in which a function that returned too early shows itself by its next call: more than a chain of
 * awaits needs between two calls. A turn costs some 50 ns, and an answer that the store had at once passes through fewer of them.
 */
const turnsAfterReading = 8;
const turnsAfterWaiting = 32;

/**
 * A transaction under snapshot isolation (the paper, section 2.2): reads the database as of its start timestamp, its own
 * writes included, and writes everything at its commit timestamp or nothing. Two that write the same cell and overlap
 * do not both commit. Not to be used after it was committed or rolled back.
 *
 * @example
 * await db.transact(async (tx) => {
 *   const balance = (await tx.get(accounts.balance, "alice")) ?? 0;
 *   tx.set(accounts.balance, "alice", balance - 10);
 * });
 */
export class Transaction extends View {
  readonly #core: CoreTransaction;
  /** Tables that are written and not yet known to be recorded. */
  #unrecorded: Set<TableDefinition> | undefined;
  /** How long to wait for such a call; 0 if nothing was read. */
  #turnsAfterReturn = 0;
  /** Calls that are not answered yet. */
  #callsUnderWay = 0;
  /** The program's function has returned: a call that comes now is one that it did not wait for. */
  #hasReturned = false;
  #unawaited: UnawaitedCallError | undefined;

  /** @internal */
  constructor(core: CoreTransaction) {
    super(core.context, core.reader, core.buffer, core.reads);
    this.#core = core;
  }

  /** What the transaction reads: every commit at or below it. Microseconds since 1970, about. */
  get startTimestamp(): number {
    return this.#core.startTimestamp;
  }

  /** Where what it wrote stands; `undefined` before the commit, and after one that wrote nothing. */
  get commitTimestamp(): number | undefined {
    return this.#core.commitTimestamp;
  }

  protected override assertReadable(): void {
    this.#assertUsable();
    if (this.#turnsAfterReturn === 0) this.#turnsAfterReturn = turnsAfterReading;
  }

  protected override underWay<T>(call: Promise<T>): Promise<T> {
    this.#callsUnderWay++;
    this.#turnsAfterReturn = turnsAfterWaiting;
    return call.finally(() => this.#callsUnderWay--);
  }

  #assertUsable(): void {
    if (this.#hasReturned) this.#refuseUnawaited();
    this.#core.assertOpen();
  }

  /** Ends the transaction because of a call that its function did not wait for. The call fails for the same reason. */
  #refuseUnawaited(): void {
    const { label, startTimestamp } = this.#core;
    const name = label === undefined ? "" : ` "${label}"`;
    this.#unawaited ??= new UnawaitedCallError(
      `The transaction${name} that started at ${startTimestamp} was about to commit while calls on it were not finished. ` +
        "Nothing was written. Did you forget `await`? Wait for every call on `tx`, and for every function that takes `tx`.",
    );
    this.#core.fence(this.#unawaited);
  }

  /**
   * The program's function has returned. Throws if it did not wait for its calls. A call that a store answers at once leaves
   * nothing to count, so what its caller does next is given a few turns of the microtask queue to show.
   *
   * @internal
   */
  returned(isPromise: boolean): Promise<void> | undefined {
    if (this.#turnsAfterReturn === 0) return undefined;
    if (!isPromise) this.#refuseUnawaited();
    return this.#waitForStragglers();
  }

  async #waitForStragglers(): Promise<void> {
    this.#hasReturned = true;
    for (let turn = 0; turn < this.#turnsAfterReturn; turn++) await undefined;
    this.#hasReturned = false;
    if (this.#unawaited !== undefined) throw this.#unawaited;
  }

  /**
   * Sets a cell, when the transaction commits.
   *
   * @throws InvalidValueError for a value that the column's codec or schema refuses; InvalidKeyError for a row that cannot
   * be one; LimitExceededError when the transaction holds too much.
   */
  set<V, K, I = V>(column: Column<V, K, I>, row: NoInfer<K>, value: NoInfer<I>): void {
    this.#assertUsable();
    if (!isColumn(column)) throw notAColumn("set", column);
    const rowBytes = encodeCellRow(column, row);
    const valueBytes = encodeValue(column, row, value);
    this.#use(column.table);
    this.#core.write({ table: column.table.name, row: rowBytes, column: column.path, value: valueBytes });
  }

  /** Deletes a cell, when the transaction commits. That is a change as any other, for observers too. */
  delete<V, K>(column: Column<V, K>, row: NoInfer<K>): void {
    this.#assertUsable();
    if (!isColumn(column)) throw notAColumn("delete", column);
    const rowBytes = encodeCellRow(column, row);
    this.#use(column.table);
    this.#core.write({ table: column.table.name, row: rowBytes, column: column.path, value: undefined });
  }

  /** Deletes every cell that the transaction sees in a row. Under `serializable` this counts as a read of the whole row. */
  deleteRow<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<void> {
    return this.underWay(this.#deleteRow(table, row));
  }

  async #deleteRow<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<void> {
    this.assertReadable();
    if (!isTable(table)) throw new SchemaError("`deleteRow` takes a table made with `table(name, columns)`.");
    const defined = table[definition];
    const rowBytes = encodeRow(defined, row);
    for (const cell of await this.userCells(defined.name, rowBytes)) {
      this.#core.write({ table: defined.name, row: rowBytes, column: cell.column, value: undefined });
    }
    this.#use(defined);
  }

  /** Notifies a signal, when the transaction commits: its observers run at least once after. Never conflicts. */
  notify<K>(signal: Signal<K>, row: NoInfer<K>): void {
    this.#assertUsable();
    if (!isSignal(signal))
      throw new SchemaError("`notify` takes a signal, declared with `signal()` in its table.");
    const rowBytes = encodeRow(signal.table, row);
    this.#use(signal.table);
    this.#core.notify({ table: signal.table.name, row: rowBytes, column: signal.path });
  }

  /**
   * What {@link setNote} has kept under a name; `undefined` where nothing is.
   *
   * @internal
   */
  async note(name: string): Promise<Uint8Array | undefined> {
    this.#core.assertOpen();
    const { table, row, column } = systemCell(`note/${name}`, "note");
    return (await this.#core.reader.row(table, row, [{ exact: column }], 1)).cells[0]?.value;
  }

  /**
   * Keeps a note beside the data, when the transaction commits, as an import does of how far it is; `undefined` removes it.
   *
   * @internal
   */
  setNote(name: string, value: Uint8Array | undefined): void {
    this.#core.assertOpen();
    this.#core.write({ ...systemCell(`note/${name}`, "note"), value });
  }

  /**
   * Calls `run` once after the commit, with the commit timestamp (the start timestamp where nothing was written); not after a
   * conflict or a rollback. Must not throw.
   */
  onCommit(run: (commitTimestamp: number) => void): void {
    this.#core.onCommit(run);
  }

  /**
   * Commits; for transactions from `db.begin()` only. After it the transaction is over, however it ended.
   *
   * @throws ConflictError where another transaction was faster: nothing was written. SchemaError where a table
   * contradicts what is recorded. CommitOutcomeUnknownError where the store no longer tells.
   */
  commit(): Promise<void> {
    if (this.#callsUnderWay > 0) this.#refuseUnawaited();
    return this.#unrecorded === undefined ? this.#core.commit() : this.#recordAndCommit(this.#unrecorded);
  }

  async #recordAndCommit(tables: ReadonlySet<TableDefinition>): Promise<void> {
    this.#core.assertOpen();
    try {
      await this.#core.context.schemas.record([...tables], this.#core.signal);
    } catch (error) {
      this.#core.rollback();
      throw error;
    }
    await this.#core.commit();
  }

  /** Gives the transaction up; nothing of it is written. Harmless after it has ended. */
  async rollback(): Promise<void> {
    this.#core.rollback();
  }

  /** Rolls back what was not committed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#core.rollback();
  }

  #use(table: TableDefinition): void {
    if (this.#core.context.schemas.known(table)) return;
    this.#unrecorded ??= new Set();
    this.#unrecorded.add(table);
  }
}
