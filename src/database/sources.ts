import { backoffDelay, OneAtATime, sleep } from "../environment/index.js";
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
   * Moves what is there, up to a bounded amount. Resolves to false if there was nothing.
   *
   * @throws if a change cannot be moved. Nothing of this call was moved.
   */
  readonly move: (request: MoveRequest) => Promise<boolean>;
}

/** What a source needs to move its changes. */
export interface MoveRequest {
  readonly database: TransactionRunner;
  /** The store as it was opened, for a source that is in the same server. */
  readonly store: RowStore;
  readonly tables: readonly TableDefinition[];
}

/** Milliseconds between looks at sources without changes. */
const minPauseMs = 5;
const maxPauseMs = 50;
const failing = { initialMs: 50, maximumMs: 5_000 };

/** The sources of a database's tables. They run while a worker does. */
export class Sources {
  readonly #context: TransactionContext;
  readonly #request: MoveRequest;
  readonly #moves: ReadonlySet<MovedSource["move"]>;
  /** Moves one after another: two at once in one process would only conflict. */
  readonly #turns = new OneAtATime();

  constructor(context: TransactionContext, request: MoveRequest) {
    this.#context = context;
    this.#request = request;
    this.#moves = new Set(request.tables.map(({ source }) => (source as MovedSource).move));
  }

  get isEmpty(): boolean {
    return this.#moves.size === 0;
  }

  /** Moves changes until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.isEmpty) return;
    const { environment, events } = this.#context;
    let failures = 0;
    for (let pauseMs = minPauseMs; !signal.aborted; ) {
      try {
        const moved = await this.#move();
        failures = 0;
        pauseMs = moved ? minPauseMs : Math.min(maxPauseMs, pauseMs * 2);
        if (moved) continue;
      } catch (error) {
        if (signal.aborted) return;
        events.emit("backgroundFailure", { doing: "moving the changes of attached tables", error });
        pauseMs = backoffDelay(environment, failing, ++failures);
      }
      await sleep(environment, pauseMs, signal).catch(() => undefined);
    }
  }

  /** Moves every change that was committed before the call. */
  async drain(signal: AbortSignal | undefined): Promise<void> {
    while (!signal?.aborted && (await this.#move()));
  }

  async #move(): Promise<boolean> {
    let moved = false;
    for (const move of this.#moves)
      moved = (await this.#turns.run(() => move(this.#request), undefined, "Moving changes")) || moved;
    return moved;
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
