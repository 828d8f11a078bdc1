import { ClosedError, SchemaError, UnawaitedCallError } from "../errors/index.js";
import {
  type AnyTable,
  type Column,
  decodeValue,
  definition,
  describeValue,
  encodeRow,
  encodeValue,
  isColumn,
  isSignal,
  isTable,
  type KeyOf,
  parsePath,
  type Signal,
  type TableDefinition,
} from "../schema/index.js";
import { equalBytes } from "../store/index.js";
import { notAColumn } from "./argument-errors.js";
import { systemCell } from "./cell/system.js";
import type { CoreTransaction } from "./core.js";
import { SnapshotReader } from "./read/reader.js";
import { encodeCellRow, View } from "./read/view.js";

/**
 * After the program's function has returned, the transaction waits this many turns of the microtask
 * queue, to detect a call that the function did not await. It waits 8 turns if the store answered
 * all reads at once, and otherwise 32. A chain of awaits between two calls takes fewer turns than
 * that. A turn costs about 50 ns.
 */
const turnsAfterReading = 8;
const turnsAfterWaiting = 32;

/**
 * A transaction (the paper, section 2.2). Its isolation is snapshot, or serializable if its options
 * say so. It reads the database as of its start timestamp, plus its own writes. It commits all its
 * writes at one commit timestamp, or none. Of two overlapping transactions that write the same
 * cell, at most one commits.
 *
 * It lives until it is committed or rolled back. Every later call fails with a `ClosedError`.
 * @example
 * await db.transact(async (tx) => {
 *   const balance = (await tx.get(accounts.balance, "alice")) ?? 0;
 *   tx.set(accounts.balance, "alice", balance - 10);
 * });
 */
export class Transaction extends View {
  readonly #core: CoreTransaction;
  /** Tables that this transaction writes and that may not be recorded yet. */
  #unrecorded: Set<TableDefinition> | undefined;
  /**
   * Microtask turns to wait for a call that the function did not await. 0 if the transaction has
   * read nothing.
   */
  #turnsAfterReturn = 0;
  /** Number of calls that are not answered yet. */
  #callsUnderWay = 0;
  /** True after the program's function has returned. A call after that was not awaited. */
  #hasReturned = false;
  #unawaited: UnawaitedCallError | undefined;
  /** True while the commit records tables. A write then would be of a table that is not recorded. */
  #isRecording = false;

  /** @internal */
  constructor(core: CoreTransaction) {
    super(core.context, core.reader, core.buffer, core.reads);
    this.#core = core;
  }

  /**
   * The timestamp of the snapshot that the transaction reads. The transaction sees every commit at
   * or below this timestamp. Roughly microseconds since 1970.
   */
  get startTimestamp(): number {
    return this.#core.startTimestamp;
  }

  /**
   * The timestamp of this transaction's writes. `undefined` before the commit, and after a commit
   * without writes.
   */
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
    if (!this.#isRecording) return;
    throw new ClosedError(
      `The transaction that started at ${this.startTimestamp} is being committed. Wait for every call on \`tx\` before ` +
        "you commit, and begin a new transaction for further work.",
    );
  }

  /**
   * Fences the transaction because its function did not await a call. That call fails with the same
   * error.
   */
  #refuseUnawaited(): void {
    const { label, startTimestamp } = this.#core;
    const name = label === undefined ? "" : ` "${label}"`;
    this.#unawaited ??= new UnawaitedCallError(
      `The transaction${name} that started at ${startTimestamp} was about to commit before all calls on it had finished. ` +
        "Nothing was written. An `await` is missing: wait for every call on `tx`, and for every function that takes `tx`.",
    );
    this.#core.fence(this.#unawaited);
  }

  /**
   * After the program's function has returned, checks that the function awaited its calls. Throws
   * if it did not. If the store answers a call at once, no call is under way that could be counted.
   * The transaction therefore waits a few turns of the microtask queue for the caller's next call.
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
   * Sets a cell when the transaction commits.
   * @throws InvalidValueError if the column's codec or schema refuses the value.
   * @throws InvalidKeyError if the row is not a valid key.
   * @throws LimitExceededError if the transaction would hold more than `transactionBytes`.
   */
  set<V, K, I = V>(column: Column<V, K, I>, row: NoInfer<K>, value: NoInfer<I>): void {
    this.#assertUsable();
    if (!isColumn(column)) throw notAColumn("set", column);
    refuseSource(column.table);
    const rowBytes = encodeCellRow(column, row);
    const valueBytes = encodeValue(column, row, value);
    this.#use(column.table);
    this.#core.write({ table: column.table.name, row: rowBytes, column: column.path, value: valueBytes });
  }

  /**
   * Deletes a cell when the transaction commits. A delete is a change like any other: observers run
   * for it.
   */
  delete<V, K>(column: Column<V, K>, row: NoInfer<K>): void {
    this.#assertUsable();
    if (!isColumn(column)) throw notAColumn("delete", column);
    refuseSource(column.table);
    const rowBytes = encodeCellRow(column, row);
    this.#use(column.table);
    this.#core.write({ table: column.table.name, row: rowBytes, column: column.path, value: undefined });
  }

  /**
   * Deletes every cell that the transaction sees in a row. Under `serializable` this counts as a
   * read of the whole row.
   * @throws SchemaError if a cell's column has a unique constraint or exact index. Delete the cell with
   * that first.
   */
  deleteRow<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<void> {
    return this.underWay(this.#deleteRow(table, row));
  }

  async #deleteRow<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<void> {
    this.assertReadable();
    if (!isTable(table))
      throw new SchemaError("`deleteRow` takes a table that `table(name, columns)` returned.");
    const defined = table[definition];
    refuseSource(defined);
    const rowBytes = encodeRow(defined, row);
    const cells = await this.userCells(defined.name, rowBytes).catch((error: unknown) => {
      if (this.#unawaited === undefined) throw error;
    });
    // The transaction has rejected already, because this call was not awaited. If the call rejected too, nobody
    // would handle that, and the process would end.
    if (this.#unawaited !== undefined || cells === undefined) return;
    for (const cell of cells) this.#refuseKept(defined, row, cell.column);
    for (const cell of cells) {
      this.#core.write({ table: defined.name, row: rowBytes, column: cell.column, value: undefined });
    }
    this.#use(defined);
  }

  #refuseKept({ name }: TableDefinition, row: unknown, column: Uint8Array): void {
    const keeper = this.#core.context.schemas.keptWith(name, column);
    if (keeper === undefined) return;
    const { name: columnName } = parsePath(column);
    throw new SchemaError(
      `\`deleteRow\` would leave the entry of table ${keeper} for column ${name}.${columnName}, row ${describeValue(row)}: the ` +
        "column has a unique constraint or exact index. Delete the cell with it first, such as " +
        "`await emails.delete(tx, row)`, in the same transaction.",
    );
  }

  /**
   * Notifies a signal when the transaction commits. The signal's observers run at least once after
   * the commit. A notification never conflicts.
   */
  notify<K>(signal: Signal<K>, row: NoInfer<K>): void {
    this.#assertUsable();
    if (!isSignal(signal))
      throw new SchemaError("`notify` takes a signal, which a table declares with `signal()`.");
    const rowBytes = encodeRow(signal.table, row);
    this.#use(signal.table);
    this.#core.notify({ table: signal.table.name, row: rowBytes, column: signal.path });
  }

  /**
   * Reads the note that {@link setNote} stored under a name. `undefined` if there is none.
   * @internal
   */
  async note(name: string): Promise<Uint8Array | undefined> {
    this.#core.assertOpen();
    return await this.#core.reader.note(name);
  }

  /**
   * Stores a note in the system table when the transaction commits. An import uses it to record its
   * progress. `undefined` removes the note.
   * @internal
   */
  setNote(name: string, value: Uint8Array | undefined): void {
    this.#core.assertOpen();
    this.#core.write({ ...systemCell(`note/${name}`, "note"), value });
  }

  /**
   * Returns what an observer's next run for a cell gets as `previous`: the value that it handled last. If
   * it has handled none, then with `adopt` it counts as having handled the present value, and that is returned.
   * `undefined` without a registered observer.
   * @internal
   */
  async handled<V, K>(
    observer: string,
    column: Column<V, K>,
    row: K,
    { adopt }: { readonly adopt: boolean },
  ): Promise<{ readonly value: V | undefined } | undefined> {
    this.#core.assertOpen();
    const { context, reader, startTimestamp } = this.#core;
    const [table, path] = [column.table.name, column.path];
    const registered = (await context.notifications.fresh())
      .observersOf(table, path)
      .find(({ name }) => name === observer);
    if (registered === undefined) return undefined;
    const { acknowledgment, since } = registered;
    const rowBytes = encodeCellRow(column, row);
    const cells = await reader.wholeRow(table, rowBytes, [{ exact: path }, { exact: acknowledgment }]);
    const find = (path: Uint8Array) => cells.find((cell) => equalBytes(cell.column, path));
    const [present, record] = [find(path), find(acknowledgment)?.value];
    const start = record === undefined ? undefined : registered.acknowledged(record);
    let bytes: Buffer | undefined;
    if (start === undefined || start < since) {
      if (adopt) {
        bytes = present?.value;
        const value = registered.acknowledging(startTimestamp);
        this.#core.write({ table, row: rowBytes, column: acknowledgment, value });
      }
    } else if (present === undefined || present.commit <= start) {
      bytes = present?.value;
    } else {
      // Garbage collection keeps this version, so the read may be below the safepoint.
      const past = new SnapshotReader(context, start, { exempt: true });
      bytes = (await past.row(table, rowBytes, [{ exact: path }])).cells[0]?.value;
    }
    return { value: bytes === undefined ? undefined : decodeValue(column, row, bytes) };
  }

  /**
   * Calls `run` once after the commit with the commit timestamp, or with the start timestamp if
   * nothing was written. Does not call it after a conflict or a rollback. An error that `run`
   * throws, or with which its promise rejects, goes to the event `backgroundFailure`.
   */
  onCommit(run: (commitTimestamp: number) => void): void {
    this.#core.onCommit(run);
  }

  /**
   * Commits a transaction from `db.begin()`. The transaction is over afterwards, even if the commit
   * fails.
   * @throws ConflictError if another transaction committed first. Nothing was written.
   * @throws SchemaError if a table contradicts its recorded definition. Nothing was written.
   * @throws CommitOutcomeUnknownError if the store can no longer tell whether the commit happened.
   */
  commit(): Promise<void> {
    if (this.#callsUnderWay > 0) this.#refuseUnawaited();
    return this.#unrecorded === undefined ? this.#core.commit() : this.#recordAndCommit(this.#unrecorded);
  }

  async #recordAndCommit(tables: ReadonlySet<TableDefinition>): Promise<void> {
    this.#core.assertOpen();
    this.#isRecording = true;
    try {
      await this.#core.context.schemas.record([...tables], this.#core.signal);
    } catch (error) {
      this.#core.rollback(error);
      throw error;
    } finally {
      this.#isRecording = false;
    }
    await this.#core.commit();
  }

  /** Rolls the transaction back: nothing is written. Does nothing if the transaction has ended. */
  async rollback(): Promise<void> {
    this.#core.rollback();
  }

  /** Rolls the transaction back if it has not been committed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#core.rollback();
  }

  #use(table: TableDefinition): void {
    if (this.#core.context.schemas.known(table)) return;
    this.#unrecorded ??= new Set();
    this.#unrecorded.add(table);
  }
}

/** Throws if the rows of a table come from elsewhere, such as from an SQL table. */
export function refuseSource({ name, source }: TableDefinition): void {
  if (source === undefined) return;
  throw new SchemaError(
    `Table ${name} is read-only, because its rows come from ${source.description}. Write there instead.`,
  );
}
