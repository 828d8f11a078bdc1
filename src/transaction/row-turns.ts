import { type Environment, onAbort, sleep } from "../environment/index.js";
import type { RowStore } from "../store/index.js";

/** The longest wait for a turn, in milliseconds: a transaction that waits inside another one's function must not wait for ever. */
const maxWaitMs = 5_000;

/**
 * Turns on rows that transactions of this process conflict on. A transaction that lost such a conflict runs again when those before it
 * have ended: side by side all of them but one would lose again.
 */
export class RowTurns {
  /** The end of the last turn that was given, by row. */
  readonly #last = new Map<string, Promise<void>>();

  /** Rows on which somebody has a turn, or waits for one. */
  get size(): number {
    return this.#last.size;
  }

  /** Waits for a turn, for 5 s at most, and no longer than `signal` allows. The answer ends the turn. */
  async take(environment: Environment, row: string, signal: AbortSignal | undefined): Promise<() => void> {
    const before = this.#last.get(row);
    let release = () => {};
    const ended = new Promise<void>((resolve) => {
      release = resolve;
    });
    // Those behind wait for those before, too, if this one gives up waiting.
    const turn = (before ?? Promise.resolve()).then(() => ended);
    this.#last.set(row, turn);
    void turn.then(() => {
      if (this.#last.get(row) === turn) this.#last.delete(row);
    });
    if (before === undefined) return release;
    const patience = new AbortController();
    const waiting = sleep(environment, maxWaitMs, patience.signal).catch(() => undefined);
    const stop = () => patience.abort();
    const stopListening = onAbort(signal, stop);
    if (signal?.aborted) stop();
    await Promise.race([before, waiting]);
    stopListening();
    stop();
    return release;
  }
}

const turns = new WeakMap<RowStore, RowTurns>();

/** The turns of all who use an open store. */
export function turnsOf(store: RowStore): RowTurns {
  let found = turns.get(store);
  if (found === undefined) {
    found = new RowTurns();
    turns.set(store, found);
  }
  return found;
}
