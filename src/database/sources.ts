import { backoffDelay, sleep } from "../environment/index.js";
import type { PercolatorError } from "../errors/index.js";
import type { Observer } from "../observer/index.js";
import { type AnyTable, definition, type TableDefinition, type TableSource } from "../schema/index.js";
import type { RowStore } from "../store/index.js";
import type { Transaction, TransactionContext, TransactOptions } from "../transaction/index.js";

/** Runs transactions. `Database` is one. */
export interface TransactionRunner {
  transact<T>(run: (tx: Transaction) => T | Promise<T>, options?: TransactOptions): Promise<T>;
}

/** Moves the changes of sources into their tables. All tables of one `move` are moved together. */
export interface MovedSource extends TableSource {
  /**
   * Moves what is there, up to a bounded amount.
   *
   * @throws if nothing can be moved. Nothing of this call was moved.
   */
  readonly move: (request: MoveRequest) => Promise<MoveOutcome>;
  /** Remembers what is committed now. The result says whether all of it is moved. */
  readonly mark: (request: MoveRequest) => Promise<() => Promise<boolean>>;
}

/** What one call moved. */
export interface MoveOutcome {
  /** Whether there may be more. */
  readonly moved: boolean;
  /** Milliseconds for which the source wants to rest before the next call. 0: none. At most 250 are granted. */
  readonly restMs: number;
  /** Whether another process moves at the same time, so that this one should wait for a moment. */
  readonly isContended: boolean;
  /** Why tables do not follow their source. The others do. */
  readonly problems: readonly PercolatorError[];
}

/** What a source needs to move its changes. */
export interface MoveRequest {
  readonly database: TransactionRunner;
  /** The store as it was opened, for a source that is in the same server. */
  readonly store: RowStore;
  readonly tables: readonly TableDefinition[];
  /** Whether somebody waits until all is moved, so that the source does not rest. Default: false. */
  readonly isUrgent?: boolean | undefined;
}

/** Milliseconds between looks at sources without changes. */
const minPauseMs = 5;
const maxPauseMs = 50;
/** The longest rest that a source gets after a move. Longer, and a reader would notice. */
const maxRestMs = 250;
const failing = { initialMs: 50, maximumMs: 5_000 };
/** After a conflict with another process. The one that waits longer leaves the work to the other. */
const contending = { initialMs: 20, maximumMs: 1_000 };
const doing = "moving the changes of attached tables";

/** The sources of a database's tables. They run while a worker does. */
export class Sources {
  readonly #context: TransactionContext;
  readonly #request: MoveRequest;
  /** One of each kind. It moves the tables of all. */
  readonly #kinds: readonly MovedSource[];

  constructor(context: TransactionContext, request: MoveRequest) {
    this.#context = context;
    this.#request = request;
    const sources = request.tables.map(({ source }) => source as MovedSource);
    this.#kinds = [...new Map(sources.map((source) => [source.move, source])).values()];
  }

  get isEmpty(): boolean {
    return this.#kinds.length === 0;
  }

  /** Moves changes until `signal` is aborted. Reports each problem once. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.isEmpty) return;
    const { environment, events } = this.#context;
    let failures = 0;
    let conflicts = 0;
    let reported: ReadonlySet<string> = new Set();
    for (let pauseMs = minPauseMs; !signal.aborted; ) {
      try {
        const { moved, restMs, isContended, problems } = await this.#move();
        failures = 0;
        for (const error of problems) {
          if (!reported.has(error.message)) events.emit("backgroundFailure", { doing, error });
        }
        reported = new Set(problems.map(({ message }) => message));
        conflicts = isContended ? conflicts + 1 : 0;
        pauseMs = isContended
          ? backoffDelay(environment, contending, conflicts)
          : moved
            ? Math.min(maxRestMs, restMs)
            : Math.min(maxPauseMs, Math.max(minPauseMs, pauseMs * 2));
        if (pauseMs === 0) continue;
      } catch (error) {
        if (signal.aborted) return;
        events.emit("backgroundFailure", { doing, error });
        pauseMs = backoffDelay(environment, failing, ++failures);
      }
      await sleep(environment, pauseMs, signal).catch(() => undefined);
    }
  }

  /**
   * Moves every change that was committed before the call, and not all that writers add meanwhile.
   * Resolves to why tables do not follow their source.
   */
  async drain(signal: AbortSignal | undefined): Promise<readonly PercolatorError[]> {
    const { environment } = this.#context;
    const marks = await Promise.all(this.#kinds.map(({ mark }) => mark(this.#request)));
    const areMoved = async () => (await Promise.all(marks.map((isMoved) => isMoved()))).every(Boolean);
    for (let conflicts = 0; !signal?.aborted; ) {
      // Asked before the last move, whose problems are then those of all changes.
      const isLast = await areMoved();
      const { moved, isContended, problems } = await this.#move(true);
      if (!moved || isLast) return problems;
      conflicts = isContended ? conflicts + 1 : 0;
      if (!isContended) continue;
      await sleep(environment, backoffDelay(environment, contending, conflicts), signal).catch(
        () => undefined,
      );
    }
    return [];
  }

  async #move(isUrgent = false): Promise<MoveOutcome> {
    let moved = false;
    let restMs = Number.POSITIVE_INFINITY;
    let isContended = false;
    const problems: PercolatorError[] = [];
    for (const { move } of this.#kinds) {
      const outcome = await move({ ...this.#request, isUrgent });
      moved ||= outcome.moved;
      if (outcome.moved) restMs = Math.min(restMs, outcome.restMs);
      isContended ||= outcome.isContended;
      problems.push(...outcome.problems);
    }
    return { moved, restMs: moved ? restMs : 0, isContended, problems };
  }
}

/** The tables with a source among those that a program gave to `open`. */
export function tablesWithSource(
  tables: readonly AnyTable[],
  observers: readonly Observer[],
): readonly TableDefinition[] {
  const all = [...tables.map((table) => table[definition]), ...observers.map(({ target }) => target.table)];
  const found = new Map<string, TableDefinition>();
  for (const each of all) if (each.source !== undefined) found.set(each.name, each);
  return [...found.values()];
}
