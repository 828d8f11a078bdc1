import type { Column, Signal } from "../schema/index.js";

/** A change, as an observer of any kind receives it. */
export interface Change<V = unknown, K = unknown> {
  readonly row: K;
  /**
   * The column's value at the start of the run's transaction. Undefined after a delete, and for a
   * signal.
   */
  readonly value: V | undefined;
  /**
   * The column's value at this observer's last committed run. Undefined if there was none, and for
   * a signal.
   */
  readonly previous: V | undefined;
  /** The qualifier of a family's cell. Undefined for a column and a signal. */
  readonly qualifier: string | undefined;
  /** The column, the cell of the family, or the signal. */
  readonly column: Column<V, K> | Signal<K>;
  /**
   * Aborted when the worker gives the run up, because the observer's `timeoutMs` or the `timeoutMs`
   * of `worker.stop` has passed. Pass it to requests to other services.
   */
  readonly signal: AbortSignal;
}

/** A change of a column. */
export interface ColumnChange<V, K> extends Change<V, K> {
  readonly qualifier: undefined;
  readonly column: Column<V, K>;
}

/** A change of a cell of a family. */
export interface FamilyChange<V, K> extends Change<V, K> {
  readonly qualifier: string;
  readonly column: Column<V, K>;
}

/** A notification of a signal. */
export interface SignalChange<K> extends Change<never, K> {
  readonly value: undefined;
  readonly previous: undefined;
  readonly qualifier: undefined;
  readonly column: Signal<K>;
}

/** What a run of {@link rowObservers} gets: some of the row's watched columns have changed. */
export type RowChange<K> = Pick<Change<never, K>, "row" | "signal">;

/** The parts of a {@link Change}, without the signal, which most runs never use. */
export interface ChangeParts {
  readonly row: unknown;
  readonly value: unknown;
  readonly previous: unknown;
  readonly qualifier: string | undefined;
  readonly column: Column<unknown, unknown> | Signal<unknown>;
}

/** A change as a run receives it. It creates its AbortSignal when the run first uses the signal. */
export class RunChange implements Change {
  readonly row: unknown;
  readonly value: unknown;
  readonly previous: unknown;
  readonly qualifier: string | undefined;
  readonly column: Column<unknown, unknown> | Signal<unknown>;
  readonly #giveUp: GiveUp;

  constructor(parts: ChangeParts, giveUp: GiveUp) {
    this.row = parts.row;
    this.value = parts.value;
    this.previous = parts.previous;
    this.qualifier = parts.qualifier;
    this.column = parts.column;
    this.#giveUp = giveUp;
  }

  get signal(): AbortSignal {
    return this.#giveUp.signal;
  }
}

/** Reports, once, that a run was given up, and why. */
export class GiveUp {
  /** Aborted when the worker gives up all of its runs. Undefined if it never does. */
  readonly ofWorker: AbortSignal | undefined;
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #tell: ((reason: Error) => void) | undefined;

  constructor(ofWorker?: AbortSignal) {
    this.ofWorker = ofWorker;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get reason(): Error | undefined {
    return this.#reason;
  }

  /**
   * Calls `tell` when the run is given up, or at once if that has already happened. It keeps only
   * the last function given.
   */
  whenGivenUp(tell: ((reason: Error) => void) | undefined): void {
    this.#tell = tell;
    if (this.#reason !== undefined) tell?.(this.#reason);
  }

  giveUp(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#tell?.(reason);
  }
}
