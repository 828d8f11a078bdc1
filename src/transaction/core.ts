import { abortError, onRejection, unlessAborted } from "../environment/index.js";
import { ClosedError, ConflictError, InternalError } from "../errors/index.js";
import type { Cause, EventMap } from "../events/index.js";
import type { CommitCompany, MaybePromise, RowMutation } from "../store/index.js";
import { type BufferedWrite, WriteBuffer } from "./buffer.js";
import type { CellAddress } from "./cell/address.js";
import { conflictCell } from "./commit/conflict.js";
import { commitNotifications } from "./commit/notifications.js";
import { commitOnePhase } from "./commit/one-phase.js";
import type { CommitOutcome } from "./commit/outcome.js";
import { ReadSet } from "./commit/read-set.js";
import type { CommitRequest } from "./commit/request.js";
import { commitTwoPhase } from "./commit/two-phase.js";
import type { Hint, TransactionContext } from "./context.js";
import type { HandledCell } from "./feed/feed-entry.js";
import { SnapshotReader } from "./read/reader.js";
import type { ReaderOptions } from "./read/reader-options.js";
import { TransactionTrace, traced } from "./trace.js";

/**
 * Isolation level of a transaction. `"snapshot"` allows write skew. `"serializable"` prevents it.
 */
export type Isolation = "snapshot" | "serializable";

/** Options of a `CoreTransaction`. */
export interface CoreOptions {
  readonly isolation?: Isolation | undefined;
  /** Aborting it before the commit point ends all waiting and the transaction. */
  readonly signal?: AbortSignal | undefined;
  readonly label?: string | undefined;
  /** The change that an observer runs for. Reported in events. */
  readonly cause?: Cause | undefined;
  /** Given if nobody waits for this transaction's commit alone. */
  readonly company?: CommitCompany | undefined;
  /** Called once when the transaction has ended, committed or not. */
  readonly onEnd?: (() => void) | undefined;
  /**
   * Set for a transaction on the system's own cells. It does not check the registry's generation,
   * and it writes only the hints that {@link CoreTransaction.addHint} adds.
   */
  readonly system?: boolean | undefined;
}

type State = "open" | "committing" | "committed" | "failed" | "rolled back" | "fenced";

const noOptions: CoreOptions = Object.freeze({});
const nothing: readonly never[] = Object.freeze([]);

/**
 * A transaction on bytes. The typed `Transaction`, the observers and the registry are built on it.
 * It buffers writes, and its commit hands them to the one-phase or two-phase protocol.
 *
 * States (protocol §3.8):
 * - open -> committing -> committed, or failed if the commit throws
 * - open -> rolled back, by {@link rollback}
 * - open -> fenced, by {@link fence}: every later call throws the fence's error
 */
export class CoreTransaction {
  readonly startTimestamp: number;
  readonly context: TransactionContext;
  readonly reader: SnapshotReader;
  readonly buffer: WriteBuffer;
  readonly #options: CoreOptions;
  readonly #reads: ReadSet | undefined;
  readonly #unregister: () => void;
  /** Undefined until used, because most transactions use none of these three fields. */
  #afterCommit: ((commitTimestamp: number) => void)[] | undefined;
  #extras: RowMutation[] | undefined;
  #hints: Hint[] | undefined;
  #handled: HandledCell[] | undefined;
  readonly #begunAt: number;
  readonly #epoch: number;
  /** Present if the event `transaction` has a listener. */
  readonly #trace: TransactionTrace | undefined;
  #primary: CellAddress | undefined;
  #state: State = "open";
  #commitTimestamp: number | undefined;
  #background: Promise<void> | undefined;
  #fence: Error | undefined;

  private constructor(
    context: TransactionContext,
    start: number,
    unregister: () => void,
    options: CoreOptions,
  ) {
    this.context = context;
    this.startTimestamp = start;
    this.#begunAt = context.environment.monotonic();
    this.#options = options;
    this.#unregister = unregister;
    this.#reads = options.isolation === "serializable" ? new ReadSet() : undefined;
    const isHeard = options.system !== true && context.events.hasListeners("transaction");
    this.#trace = isHeard ? new TransactionTrace(context.environment, this.#begunAt) : undefined;
    this.reader = new SnapshotReader(context, start, this.#readerOptions());
    this.buffer = new WriteBuffer(context.settings.transactionBytes);
    this.#epoch = context.schemas.epoch;
  }

  /**
   * Takes a start timestamp. Under one-phase commit it is the current value of the store's counter,
   * so that reads see all commits so far. Under two-phase commit the oracle gives out a new
   * timestamp. Until that timestamp arrives, the transaction is registered at a lower bound of it.
   * Meanwhile the process reads the safepoint if its copy is old.
   */
  static begin(context: TransactionContext, options: CoreOptions = noOptions): MaybePromise<CoreTransaction> {
    if (options.signal?.aborted) throw abortError(options.signal, "Beginning a transaction");
    const floor = context.oracle.latest();
    if (floor instanceof Promise)
      return unlessAborted(floor, options.signal, "Beginning a transaction").then((known) =>
        CoreTransaction.#beginAbove(context, known, options),
      );
    return CoreTransaction.#beginAbove(context, floor, options);
  }

  static #beginAbove(
    context: TransactionContext,
    floor: number,
    options: CoreOptions,
  ): MaybePromise<CoreTransaction> {
    return context.settings.commit === "one-phase"
      ? new CoreTransaction(context, floor, context.active.register(floor), options)
      : CoreTransaction.#beginTwoPhase(context, floor, options);
  }

  static async #beginTwoPhase(
    context: TransactionContext,
    floor: number,
    options: CoreOptions,
  ): Promise<CoreTransaction> {
    const unregisterFloor = context.active.register(floor);
    context.safepoint.refresh();
    try {
      const start = await context.oracle.next({ signal: options.signal });
      return new CoreTransaction(context, start, context.active.register(start), options);
    } finally {
      unregisterFloor();
    }
  }

  #readerOptions(): ReaderOptions | undefined {
    const { signal } = this.#options;
    const recorder = this.#reads;
    const trace = this.#trace;
    const isPlain = signal === undefined && recorder === undefined && trace === undefined;
    return isPlain ? undefined : { signal, recorder, trace };
  }

  /** Stops holding garbage collection back. Called once, however the transaction ends. */
  #end(): void {
    this.#unregister();
    this.#options.onEnd?.();
  }

  /** The rows and ranges that were read. Defined only under `serializable`. */
  get reads(): ReadSet | undefined {
    return this.#reads;
  }

  get label(): string | undefined {
    return this.#options.label;
  }

  get signal(): AbortSignal | undefined {
    return this.#options.signal;
  }

  /** Defined after a commit that wrote something. */
  get commitTimestamp(): number | undefined {
    return this.#commitTimestamp;
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** Throws unless the transaction is open and its signal is not aborted. */
  assertOpen(): void {
    if (this.#state === "open" && !this.#options.signal?.aborted) return;
    if (this.#state === "fenced") throw this.#fence!;
    if (this.#state !== "open") {
      const ended = this.#state === "committing" ? "is being committed" : `was ${this.#state}`;
      throw new ClosedError(
        `The transaction that started at ${this.startTimestamp} ${ended}. Begin a new one for further work. ` +
          "If this is unexpected, check that every earlier call was awaited.",
      );
    }
    throw abortError(this.#options.signal!, `The transaction that started at ${this.startTimestamp}`);
  }

  /** Buffers a write. A write whose value is undefined deletes the cell. */
  write(write: BufferedWrite): void {
    this.assertOpen();
    this.buffer.set(write);
  }

  /** Buffers a notification of a signal. */
  notify(signal: CellAddress): void {
    this.assertOpen();
    this.buffer.notify(signal);
  }

  /** Makes one of the written cells the primary. Default: the first write. */
  setPrimary(cell: CellAddress): void {
    this.#primary = cell;
  }

  /** Whether {@link alsoMutate} is allowed. */
  get commitsInOneBatch(): boolean {
    return this.context.settings.commit === "one-phase";
  }

  /**
   * Adds an unguarded mutation to the batch of a one-phase commit. The store applies it together
   * with the commit, or not at all.
   */
  alsoMutate(mutation: RowMutation): void {
    this.assertOpen();
    if (!this.commitsInOneBatch) throw new InternalError("Only a one-phase commit has a batch to add to.");
    this.#extras ??= [];
    this.#extras.push(mutation);
  }

  /** Writes a hint at the commit timestamp, so that one observer looks at a cell again. */
  addHint(hint: Hint): void {
    this.assertOpen();
    this.#hints ??= [];
    this.#hints.push(hint);
  }

  /** Says that this transaction handles the changes of an observer's cell, or parks them. Call it once for each cell. */
  addHandled(handled: HandledCell): void {
    this.#handled ??= [];
    this.#handled.push(handled);
  }

  /**
   * Calls `run` once after the commit point with the commit timestamp, or with the start timestamp
   * if nothing was written.
   */
  onCommit(run: (commitTimestamp: number) => void): void {
    this.assertOpen();
    this.#afterCommit ??= [];
    this.#afterCommit.push(run);
  }

  /**
   * Commits. Rejects with a `ConflictError` if another transaction committed first. The transaction
   * is over in either case.
   */
  commit(): Promise<void> {
    let outcome: MaybePromise<CommitOutcome>;
    const committingAt = this.context.environment.monotonic();
    const cells = this.buffer.size;
    try {
      this.#assertCommittable();
    } catch (error) {
      return Promise.reject(error);
    }
    this.#state = "committing";
    try {
      this.#trace?.keepWrites(this.buffer);
      outcome = this.#commitBuffered();
    } catch (error) {
      return this.#failed(error);
    }
    // Callbacks take less memory than an `async` function, and thousands of commits may wait here.
    return Promise.resolve(outcome).then(
      (known) => this.#committed(known, cells, committingAt),
      (error: unknown) => this.#failed(error),
    );
  }

  #committed(outcome: CommitOutcome, cells: number, committingAt: number): MaybePromise<void> {
    this.#state = "committed";
    try {
      this.#finish(outcome, cells, committingAt);
    } catch (error) {
      return this.#failed(error);
    }
    this.#end();
    this.buffer.clear();
  }

  #failed(error: unknown): Promise<never> {
    this.#state = "failed";
    try {
      this.#report(error);
      return Promise.reject(error);
    } finally {
      this.#end();
      this.buffer.clear();
    }
  }

  /**
   * Throws if the transaction may not commit. Before it throws, it rolls the transaction back, so
   * that the transaction no longer holds collection back.
   */
  #assertCommittable(): void {
    try {
      this.assertOpen();
      this.#reads?.assertBounded(this.startTimestamp);
    } catch (error) {
      this.rollback(error);
      throw error;
    }
  }

  #commitBuffered(): MaybePromise<CommitOutcome> {
    const hasMore = this.#extras !== undefined || this.#hints !== undefined || this.#handled !== undefined;
    if (this.buffer.isEmpty && !hasMore) {
      return { commitTimestamp: undefined, hints: [] };
    }
    const request: CommitRequest = {
      start: this.startTimestamp,
      epoch: this.#epoch,
      writes: this.buffer.all(),
      signals: this.buffer.signals,
      primary: this.#primary,
      reads: this.#reads,
      system: this.#options.system ?? false,
      extras: this.#extras ?? nothing,
      hints: this.#hints ?? nothing,
      handled: this.#handled ?? nothing,
      label: this.#options.label,
      observer: this.#options.cause?.observer,
      signal: this.#options.signal,
      company: this.#options.company,
    };
    const context = this.#trace?.around(this.context) ?? this.context;
    if (this.#phases === 1) {
      const { atomic } = context.store;
      if (atomic === undefined)
        throw new InternalError("One-phase commits need a store with atomic batches.");
      return commitOnePhase(context, atomic, request);
    }
    return request.writes.length > 0
      ? commitTwoPhase(context, request)
      : commitNotifications(context, request);
  }

  /**
   * System transactions take the one-phase path on every store with atomic batches, because that
   * path needs no locks.
   */
  get #phases(): 1 | 2 {
    const { settings, store } = this.context;
    if (settings.commit === "one-phase") return 1;
    return this.#options.system && store.atomic !== undefined ? 1 : 2;
  }

  #finish(outcome: CommitOutcome, cells: number, committingAt: number): void {
    const { context, startTimestamp } = this;
    this.#commitTimestamp = outcome.commitTimestamp;
    if (outcome.background !== undefined) {
      this.#background = outcome.background;
      context.background.track(outcome.background);
    }
    if (outcome.commitTimestamp !== undefined) {
      if (context.events.hasListeners("commit")) {
        context.events.emit("commit", {
          startTimestamp,
          commitTimestamp: outcome.commitTimestamp,
          cells,
          onlyTable: this.buffer.onlyTable,
          label: this.label,
          phases: this.#phases,
          durationMs: this.#lasted(),
          commitMs: this.#lasted(committingAt),
          cause: this.#options.cause,
        });
      }
      context.notifications.committed(outcome.hints, outcome.commitTimestamp, this.#handled ?? nothing);
    }
    this.#trace?.keepHints(outcome.hints);
    this.#tellTransaction("committed");
    if (this.#afterCommit === undefined) return;
    const report = (error: unknown) =>
      context.events.emit("backgroundFailure", { doing: "An onCommit function", error });
    for (const run of this.#afterCommit) {
      try {
        onRejection(run(outcome.commitTimestamp ?? startTimestamp), report);
      } catch (error) {
        report(error);
      }
    }
  }

  #report(error: unknown): void {
    if (error instanceof ConflictError) this.#reportConflict(error);
    else this.#reportRollback(error);
  }

  #reportConflict(error: ConflictError): void {
    const { table, row, column, winnerTimestamp } = error;
    this.context.events.emit("conflict", {
      startTimestamp: this.startTimestamp,
      table,
      row,
      column,
      onlyTable: this.buffer.onlyTable,
      label: this.label,
      phases: this.#phases,
      winnerTimestamp,
      durationMs: this.#lasted(),
      cause: this.#options.cause,
    });
    this.#tellTransaction("conflict", error);
  }

  #reportRollback(error?: unknown): void {
    this.context.events.emit("rollback", {
      startTimestamp: this.startTimestamp,
      onlyTable: this.buffer.onlyTable,
      label: this.label,
      phases: this.#phases,
      durationMs: this.#lasted(),
      cause: this.#options.cause,
      error,
    });
    this.#tellTransaction("rolled back", error);
  }

  /** Emits the event `transaction` with the trace. */
  #tellTransaction(outcome: EventMap["transaction"]["outcome"], error?: unknown): void {
    const trace = this.#trace;
    if (trace === undefined) return;
    trace.end();
    this.context.events.emit("transaction", {
      startTimestamp: this.startTimestamp,
      commitTimestamp: this.#commitTimestamp,
      outcome,
      label: this.label,
      phases: this.#commitTimestamp === undefined ? undefined : this.#phases,
      durationMs: this.#lasted(),
      cause: this.#options.cause,
      ...traced(trace),
      conflict:
        error instanceof ConflictError
          ? { cell: conflictCell(error), winnerTimestamp: error.winnerTimestamp }
          : undefined,
      error: outcome === "rolled back" ? error : undefined,
    });
  }

  /** Milliseconds from `since` until now. Default: since the transaction began. */
  #lasted(since = this.#begunAt): number {
    return this.context.environment.monotonic() - since;
  }

  /**
   * Rolls an open transaction back. Nothing was written, and nothing will be. Safe to repeat. `error`
   * is what ended it, for the events.
   */
  rollback(error?: unknown): void {
    if (this.#state !== "open") return;
    this.#state = "rolled back";
    this.#trace?.keepWrites(this.buffer);
    this.#end();
    this.#reportRollback(error);
    this.buffer.clear();
  }

  /**
   * Ends an open transaction from outside, at a deadline for example. Every later call on the
   * transaction throws `error`.
   */
  fence(error: Error): void {
    if (this.#state !== "open") return;
    this.rollback(error);
    this.#state = "fenced";
    this.#fence = error;
  }

  /** Resolves when the locks of a two-phase commit have been rolled forward. */
  async settled(): Promise<void> {
    await this.#background;
  }
}
