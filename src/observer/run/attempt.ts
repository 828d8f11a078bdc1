import { ObserverError } from "../../errors/index.js";
import { isRemote, type MaybePromise } from "../../store/index.js";
import {
  addressKey,
  type CellAddress,
  CoreTransaction,
  isThenable,
  rowKey,
  showCell,
  Transaction,
} from "../../transaction/index.js";
import { type Change, type GiveUp, RunChange } from "../change.js";
import { encodeAcknowledgment } from "../hint/acknowledgment.js";
import { classify, EndlessObserverError, type FailureKind, RunError } from "../hint/failure.js";
import { deleteHint } from "../hint/hint.js";
import { decodeParkedEntry, parkedEntryCell } from "../hint/parked-entry.js";
import type { Observer } from "../observer.js";
import type { Task } from "../queue/task.js";
import {
  type CellState,
  describeChange,
  handledUpTo,
  isDue,
  readCellStates,
  readPrevious,
  type WatchedCell,
} from "../registry/due.js";
import { isCurrent, type RegisteredObserver } from "../registry/registered.js";
import type { Registry } from "../registry/registry.js";
import type { RegistryView } from "../registry/view.js";
import { type RunReadPredictor, readPredictorOf } from "./read-predictor.js";
import type { RunsUnderWay } from "./runs-under-way.js";
import { sharersOf } from "./shared-runs.js";

/** How many runs in a row may be due only to the observer's own writes. */
const longestChain = 1_000;
/** A run that lasts longer than this, in milliseconds, is counted and announced in its hint. */
const longRunMs = 1_000;
/** A batch takes no further changes along once their values have so many bytes. */
const batchBytes = 16 * 1024 * 1024;
/** How many cells a batch reads at once: at first, and at most, since any of them may have a large value. */
const firstReads = 8;
const maxReads = 64;
const none: readonly never[] = [];

/** The result of an attempt. */
export type AttemptResult =
  | {
      readonly outcome: "committed";
      readonly start: number;
      /** Commit timestamp of the change that it handled. 0 for a signal. */
      readonly changedAt: number;
      readonly commitTimestamp: number;
      /** Whether it notified the signal of a task that it ran for. */
      readonly notifiedItself: (task: Task) => boolean;
      /** The other changes that it handled. */
      readonly others: readonly WatchedCell[];
      readonly settling: Promise<unknown> | undefined;
    }
  | {
      readonly outcome: "clean";
      /** Every change up to this timestamp is handled or parked. A newer hint stays. */
      readonly start: number;
      readonly settling: Promise<unknown>;
    }
  /**
   * The observer was unregistered, or registered in another version or of another column. Its hints
   * belong to other programs.
   */
  | { readonly outcome: "left" }
  /**
   * The cell was parked because its runs ended processes. It has changed since, but must wait for
   * another `waitMs` before its next run.
   */
  | { readonly outcome: "suspended"; readonly waitMs: number }
  | {
      readonly outcome: "failed";
      /** Start timestamp. Undefined if the attempt failed before it had one. */
      readonly start: number | undefined;
      readonly kind: FailureKind;
      readonly error: unknown;
    };

export interface AttemptOptions {
  readonly registry: Registry;
  readonly task: Task;
  readonly giveUp: GiveUp;
  /** The runs whose commits may wait for one another. Default: this commit waits for none. */
  readonly underWay?: RunsUnderWay | undefined;
  /**
   * Returns further tasks of the observer, whose changes the run handles too. Called once, before the
   * run. Default: none.
   */
  readonly company?: (() => Promise<readonly Task[]>) | undefined;
  /** Called once if the run lasts long. */
  readonly onLong: () => void;
}

/** A task's cell, as its attempt read it. */
interface ReadCell extends WatchedCell {
  readonly state: CellState;
  readonly besides: readonly CellBeside[];
}

/** A changed cell that a run handles. */
interface FoundCell extends ReadCell {
  /** Its value at the last run. */
  readonly previous: Buffer | undefined;
}

/** What a run handles. */
interface Handled {
  /** All but the task's cell. */
  readonly others: readonly WatchedCell[];
  readonly hints: readonly CellAddress[];
  readonly notifiedItself: (task: Task) => boolean;
}

/** A cell in the row of a changed cell, whose observer shares the run. Its state is without its parked record. */
interface CellBeside extends WatchedCell {
  readonly state: CellState;
}

/**
 * Makes one attempt at one hint (protocol §5.2), in its own transaction. It checks whether the
 * observer is due, runs the observer, and commits the observer's writes together with the
 * acknowledgment. The hint is deleted with the commit or after it.
 */
export async function attempt(options: AttemptOptions): Promise<AttemptResult> {
  const { registry, task, giveUp, underWay } = options;
  const { observer } = task;
  const arrive = underWay?.begin();
  let tx: CoreTransaction | undefined;
  try {
    const { isolation, name } = observer;
    const cause = { observer: name, cell: task.cell, commitTimestamp: task.timestamp };
    const run = { isolation, label: name, cause, company: underWay, signal: giveUp.ofWorker };
    tx = await CoreTransaction.begin(registry.context, run);
    // Reads the registry after it has taken the start timestamp. If a hint exists for a newer
    // version of the observer by then, this read shows that version.
    const view = await registry.fresh();
    const registered = registeredIn(view, observer);
    if (registered === undefined || registered.record.table !== task.cell.table) {
      tx.rollback();
      return { outcome: "left" };
    }
    return await new Attempt(options, tx, view, registered, arrive).run();
  } catch (error) {
    const { kind, error: shown } = classify(error);
    tx?.rollback(shown);
    return { outcome: "failed", start: tx?.startTimestamp, kind, error: shown };
  } finally {
    arrive?.();
    tx?.rollback();
  }
}

function registeredIn(view: RegistryView, observer: Observer): RegisteredObserver | undefined {
  const registered = view.observers.get(observer.name);
  return isCurrent(registered, observer) ? registered : undefined;
}

/** The other columns of the row whose changes a run handles too, if observers share their runs. */
function othersOf({ observer, cell }: Task, view: RegistryView): readonly WatchedCell[] {
  const { table, row } = cell;
  const others: WatchedCell[] = [];
  for (const other of sharersOf(observer)) {
    const { target } = other;
    if (other.name === observer.name || target.kind !== "column") continue;
    const registered = registeredIn(view, other);
    if (registered !== undefined) others.push({ registered, cell: { table, row, column: target.path } });
  }
  return others;
}

class Attempt {
  readonly #options: AttemptOptions;
  readonly #tx: CoreTransaction;
  readonly #view: RegistryView;
  readonly #registered: RegisteredObserver;
  readonly #predictor: RunReadPredictor | undefined;
  /** Called when the run comes to its commit. */
  readonly #arrive: (() => void) | undefined;
  /** Whether the observer's function returned without an error. */
  #isWhole = false;

  constructor(
    options: AttemptOptions,
    tx: CoreTransaction,
    view: RegistryView,
    registered: RegisteredObserver,
    arrive: (() => void) | undefined,
  ) {
    this.#options = options;
    this.#tx = tx;
    this.#view = view;
    this.#registered = registered;
    this.#arrive = arrive;
    const { cell } = options.task;
    this.#predictor = readPredictorOf(tx.context, registered.name, cell);
    if (this.#predictor !== undefined) tx.reader.predictBy(this.#predictor);
  }

  /** Runs the attempt. Call it once. */
  run(): Promise<AttemptResult> {
    const predictor = this.#predictor;
    const running = this.#run();
    return predictor === undefined ? running : running.finally(() => this.#tellPrefetched(predictor));
  }

  #tellPrefetched(predictor: RunReadPredictor): void {
    const { hits, misses, wasted } = predictor.end(this.#isWhole);
    const { events } = this.#tx.context;
    if (hits + misses + wasted === 0 || !events.hasListeners("prefetch")) return;
    events.emit("prefetch", { observer: this.#registered.name, hits, misses, wasted });
  }

  async #run(): Promise<AttemptResult> {
    const { task } = this.#options;
    if (!this.#watches(task)) return await this.#dropHint();
    const own = await this.#read(task);
    const { state } = own;
    if (!isDue(this.#registered, state, task.timestamp)) return await this.#endClean(state);
    const waitMs = state.parked === undefined ? 0 : await this.#suspendedForMs(state);
    if (waitMs > 0) return { outcome: "suspended", waitMs };
    this.#refuseEndless(state);
    const found = await this.#findAll(own);
    const transaction = await this.#callObserver(found);
    const handled = this.#acknowledge(found, await this.#changedBeside(found));
    this.#arrive?.();
    await transaction.commit();
    return this.#committed(state, handled);
  }

  async #endClean(state: CellState): Promise<AttemptResult> {
    await this.#tx.commit();
    const upTo = handledUpTo(this.#registered, state, this.#tx.startTimestamp);
    return { outcome: "clean", start: upTo, settling: this.#removeHint(this.#options.task.hint, upTo) };
  }

  /** Writes what the commit says about the handled cells. The task's own comes first. */
  #acknowledge(found: readonly FoundCell[], beside: readonly CellBeside[]): Handled {
    const notifiedItself = this.#selfNotified();
    const cells: WatchedCell[] = [];
    const hints: CellAddress[] = [];
    for (const each of [...found, ...beside]) {
      const { registered, cell, state } = each;
      this.#handle(each, state);
      const isOwn = each === found[0];
      if (!isOwn) cells.push(each);
      hints.push(isOwn ? this.#options.task.hint : registered.hint(cell).address);
    }
    if (this.#tx.commitsInOneBatch)
      for (const hint of hints) this.#tx.alsoMutate(deleteHint(hint, this.#tx.startTimestamp));
    return { others: cells, hints, notifiedItself };
  }

  #committed(state: CellState, { others, hints, notifiedItself }: Handled): AttemptResult {
    const start = this.#tx.startTimestamp;
    const settling = this.#tx.commitsInOneBatch
      ? undefined
      : Promise.all(hints.map((hint) => this.#removeHint(hint, start)));
    return {
      outcome: "committed",
      start,
      changedAt: state.commit,
      commitTimestamp: this.#tx.commitTimestamp ?? start,
      notifiedItself,
      others,
      settling,
    };
  }

  /** Whether the observer watches the cell of a hint. An earlier observer of its name may have watched another column. */
  #watches({ cell }: Task): boolean {
    return this.#registered.watches(cell.column);
  }

  /**
   * Ends the attempt at a hint of a cell that the observer does not watch, and removes the hint. It may also be of a
   * later observer of the name, which an old copy of the registry does not show.
   */
  async #dropHint(): Promise<AttemptResult> {
    const { registry, task } = this.#options;
    if (registeredIn(await registry.reload(), task.observer) === undefined) return { outcome: "left" };
    await this.#tx.commit();
    const start = this.#tx.startTimestamp;
    return { outcome: "clean", start, settling: this.#removeHint(task.hint, start) };
  }

  /** The task's cell, and those that a batch takes along. */
  #findAll(own: ReadCell): MaybePromise<readonly FoundCell[]> {
    const { task, company } = this.#options;
    const found = this.#withPrevious(task.observer, own);
    if (company !== undefined) return this.#findAlong(found, company);
    return found instanceof Promise ? found.then((each) => [each]) : [found];
  }

  /**
   * Finds the changes that the run handles too, in a batch. A task whose cell is not due, or is parked,
   * or must not go on running for its own writes, is left to another attempt, and so is what would make
   * the values of the batch too large.
   */
  async #findAlong(
    own: MaybePromise<FoundCell>,
    company: () => Promise<readonly Task[]>,
  ): Promise<readonly FoundCell[]> {
    const found = [await own];
    const tasks = await company();
    let bytes = 0;
    let atOnce = firstReads;
    for (let from = 0; from < tasks.length && bytes < batchBytes; ) {
      const some = tasks.slice(from, from + atOnce);
      from += some.length;
      for (const each of await Promise.all(some.map((task) => this.#find(task)))) {
        if (each === undefined || bytes >= batchBytes) continue;
        bytes += bytesOf(each);
        found.push(each);
      }
      // As many as still fit if they are like those so far.
      const fitting = ((batchBytes - bytes) * from) / Math.max(bytes, 1);
      atOnce = Math.min(maxReads, Math.ceil(fitting));
    }
    return found;
  }

  /** Reads a change, unless it is left to another attempt. */
  async #find(task: Task): Promise<FoundCell | undefined> {
    if (!this.#watches(task)) return undefined;
    const read = await this.#read(task);
    const { state } = read;
    const mayRun = state.parked === undefined && this.#chainOf(task, state) < longestChain;
    if (!mayRun || !isDue(this.#registered, state, task.timestamp)) return undefined;
    return await this.#withPrevious(task.observer, read);
  }

  /** Reads the task's cell, and the cells of its row that a run handles too. */
  #read(task: Task): MaybePromise<ReadCell> {
    const { cell } = task;
    const registered = this.#registered;
    const others = othersOf(task, this.#view);
    const found = ([state, ...states]: readonly CellState[]): ReadCell => ({
      registered,
      cell,
      state: state!,
      besides: others.map((each, index) => ({ ...each, state: states[index]! })),
    });
    const states = readCellStates(this.#tx, cell, [{ registered, cell }, ...others], "first");
    return states instanceof Promise ? states.then(found) : found(states);
  }

  /** The changed cells beside those found, with their parked records, since the run has succeeded with their values. */
  #changedBeside(found: readonly FoundCell[]): MaybePromise<readonly CellBeside[]> {
    if (found.every(({ besides }) => besides.length === 0)) return none;
    return Promise.all(found.map((each) => this.#changedInRow(each))).then((changed) => changed.flat());
  }

  async #changedInRow({ cell, besides }: FoundCell): Promise<readonly CellBeside[]> {
    const start = this.#tx.startTimestamp;
    const changed = besides.filter(({ registered, state }) => isDue(registered, state, start));
    const states = await readCellStates(this.#tx, cell, changed);
    return changed.map((each, index) => ({ ...each, state: states[index]! }));
  }

  #withPrevious(observer: Observer, { registered, cell, state, besides }: ReadCell): MaybePromise<FoundCell> {
    const found = (previous: Buffer | undefined) => ({ registered, cell, state, previous, besides });
    const previous = readPrevious(this.#tx, observer, cell, state);
    return previous instanceof Promise ? previous.then(found) : found(previous);
  }

  /** How many runs in a row were due only to the observer's own writes or notifications. */
  #chainOf(task: Task, state: CellState): number {
    return this.#registered.isWeak ? task.chain : chainOf(state);
  }

  /**
   * How long a changed cell must wait if it was parked because its runs ended processes, in
   * milliseconds. Such a cell runs at most once per `backoff.maximumMs`. Even if the cell keeps
   * changing, it then ends at most one process in that time.
   */
  async #suspendedForMs({ parked, acknowledgment }: CellState): Promise<number> {
    if (parked === undefined || parked.chain === 0 || parked.start <= (acknowledgment?.start ?? 0)) return 0;
    const { observer, cell } = this.#options.task;
    const { table, row, column } = parkedEntryCell(observer.name, cell);
    const { cells } = await this.#tx.reader.row(table, row, [{ exact: column }]);
    const entry = cells[0]?.value;
    if (entry === undefined) return 0;
    const { maximumMs } = observer.backoff;
    const waitMs = decodeParkedEntry(entry).parkedAt + maximumMs - this.#tx.context.environment.now();
    // Another process's clock may have written a wait that is longer than possible.
    return waitMs <= maximumMs ? waitMs : 0;
  }

  /**
   * An observer that writes the column that it watches makes itself due again. It may do so until
   * its value settles, but not forever: this method throws after `longestChain` such runs in a row.
   */
  #refuseEndless(state: CellState): void {
    const { task } = this.#options;
    const chain = this.#chainOf(task, state);
    if (chain < longestChain) return;
    const watched = showCell(task.cell, this.#tx.context.schemas);
    throw new EndlessObserverError(
      `Observer "${task.observer.name}" has written ${watched}, which it watches, ${chain} times in a row, each time because ` +
        "of its own previous write. Let it write only if the value differs, or write another column.",
    );
  }

  /**
   * Runs the observer's function. After the timeout, fences its transaction, so that every later
   * call on it throws. Returns the open transaction.
   */
  async #callObserver(found: readonly FoundCell[]): Promise<Transaction> {
    const { task, giveUp } = this.#options;
    const { observer } = task;
    const parts = found.map(({ cell, state, previous }) => describeChange(observer, cell, state, previous));
    const transaction = new Transaction(this.#tx);
    const changes = parts.map((each) => new RunChange(each, giveUp));
    const given =
      observer.batch === undefined ? changes[0] : observer.group ? oneOfEachRow(found, changes) : changes;
    try {
      await this.#supervise(found.length, () => {
        const returned: unknown = observer.run(transaction, given as Change);
        return isThenable(returned) ? this.#settled(transaction, returned) : transaction.returned(false);
      });
    } catch (error) {
      throw new RunError(error, giveUp.reason);
    }
    this.#isWhole = true;
    if (!this.#tx.isOpen) {
      throw new ObserverError(
        `Observer "${observer.name}" committed or rolled back the transaction of its run, on ${showCell(task.cell, this.#tx.context.schemas)}. Leave that to ` +
          "the worker, which commits it together with the acknowledgment of the change.",
      );
    }
    return transaction;
  }

  /** Most observers that only write have ended when they return, and need no timer. */
  #supervise(changes: number, run: () => MaybePromise<unknown>): MaybePromise<unknown> {
    const { giveUp } = this.#options;
    const running = giveUp.reason === undefined ? run() : undefined;
    const hasEnded = giveUp.reason === undefined && !(running instanceof Promise);
    return hasEnded ? undefined : this.#untilEnd(changes, Promise.resolve(running));
  }

  #untilEnd(changes: number, running: Promise<unknown>): Promise<unknown> {
    const { giveUp, task } = this.#options;
    const { environment } = this.#tx.context;
    const { timeoutMs } = task.observer;
    return new Promise((resolve, reject) => {
      const isLong = () => {
        this.#options.onLong();
        if (timeoutMs < Number.POSITIVE_INFINITY) {
          timer = environment.setTimer(timeOut, timeoutMs - longRunMs, { background: true });
        }
      };
      const timeOut = () => giveUp.giveUp(timeoutError(task, changes, this.#options.registry));
      let timer =
        timeoutMs <= longRunMs
          ? environment.setTimer(timeOut, timeoutMs, { background: true })
          : environment.setTimer(isLong, longRunMs, { background: true });
      const end = (settle: () => void) => {
        timer.cancel();
        giveUp.whenGivenUp(undefined);
        settle();
      };
      giveUp.whenGivenUp((reason) => {
        this.#tx.fence(reason);
        end(() => reject(reason));
      });
      running.then(
        (value) => end(() => resolve(value)),
        (error: unknown) => end(() => reject(error)),
      );
    });
  }

  async #settled(transaction: Transaction, returned: PromiseLike<unknown>): Promise<void> {
    await returned;
    await transaction.returned(true);
  }

  /** Tells of each task of the run whether the run has notified its signal. */
  #selfNotified(): (task: Task) => boolean {
    const { signals } = this.#tx.buffer;
    if (!this.#registered.isWeak || signals.length === 0) return () => false;
    const notified = new Set(signals.map(addressKey));
    return ({ cell }) => notified.has(addressKey(cell));
  }

  /**
   * Writes the acknowledgment of a cell, and deletes its parked record. The acknowledgment of the
   * task's cell is the primary cell.
   */
  #handle({ registered, cell }: WatchedCell, state: CellState): void {
    const { table, row, column } = cell;
    const start = this.#tx.startTimestamp;
    this.#tx.addHandled({ observer: registered.name, cell, upTo: start, isParked: false });
    if (state.parked !== undefined) {
      this.#tx.write({ table, row, column: registered.parkedColumn(column), value: undefined });
      this.#tx.write({ ...parkedEntryCell(registered.name, cell), value: undefined });
    }
    if (registered.isWeak) return;
    const acknowledgment = { table, row, column: registered.acknowledgmentColumn(column) };
    const value = encodeAcknowledgment({
      start,
      version: registered.record.version,
      chain: chainOf(state),
    });
    this.#tx.write({ ...acknowledgment, value });
    if (cell === this.#options.task.cell) this.#tx.setPrimary(acknowledgment);
  }

  /**
   * Deletes a hint's versions at or below `upTo`. If that fails, the next attempt at the hint
   * deletes them.
   */
  async #removeHint(hint: CellAddress, upTo: number): Promise<void> {
    const { context } = this.#tx;
    const remove = () => context.store.mutate(deleteHint(hint, upTo));
    const removing = isRemote(context.store) ? context.background.send(remove) : remove();
    context.background.track(removing.then(ignore, ignore));
    try {
      await removing;
    } catch (error) {
      context.events.emit("backgroundFailure", { doing: "removing the hint of a handled change", error });
    }
  }
}

function ignore(): void {}

function chainOf(state: CellState): number {
  return state.isOwnWrite ? (state.acknowledgment?.chain ?? 0) + 1 : 0;
}

function timeoutError({ observer, cell }: Task, changes: number, registry: Registry): ObserverError {
  const { name, timeoutMs } = observer;
  const shown = showCell(cell, registry);
  const on = changes === 1 ? shown : `${changes} changes, one of them of ${shown},`;
  const mend = changes === 1 ? "raise its `timeoutMs`" : "lower its `batch`, or raise its `timeoutMs`";
  return new ObserverError(
    `Observer "${name}" did not finish its run on ${on} within ${timeoutMs} ms. The run is fenced: ` +
      `its later calls on the transaction throw. Make the observer faster, or ${mend}.`,
  );
}

function bytesOf({ state, previous, besides }: FoundCell): number {
  const own = (state.value?.length ?? 0) + (previous?.length ?? 0);
  return besides.reduce((sum, each) => sum + (each.state.value?.length ?? 0), own);
}

/** One change of each row: the cells of a family are changes of their own, and row observers see only the row. */
function oneOfEachRow(found: readonly FoundCell[], changes: readonly RunChange[]): readonly RunChange[] {
  const rows = new Map(found.map(({ cell }, index) => [rowKey(cell.table, cell.row), changes[index]!]));
  return [...rows.values()];
}
