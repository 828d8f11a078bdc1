import { type Environment, onAbort, type Timer } from "../environment/index.js";

/**
 * 5 s: after this time a turn counts as ended. The function of a transaction with a turn may wait
 * for another transaction, which waits for that turn. Without a limit, both would wait forever.
 */
const maxTurnMs = 5_000;

/** Ends a turn. Safe to repeat. */
export type EndTurn = () => void;

/** The current turn on a row, and the transactions that wait for the next, in order. */
interface Line {
  readonly waiting: Set<(end: EndTurn) => void>;
  end: EndTurn;
  begunAt: number;
  /** Ends a turn that lasts too long. Set while a transaction waits. */
  timer: Timer | undefined;
}

/**
 * Gives out turns on contended rows, to the transactions of `db.transact` and of observers in this
 * process. A transaction that lost a conflict runs again when the transactions before it have
 * ended. If all of them ran at once, all but one would conflict again.
 */
export class RowTurns {
  readonly #environment: Environment;
  readonly #lines = new Map<string, Line>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Number of rows with a turn. */
  get size(): number {
    return this.#lines.size;
  }

  /**
   * Waits for a turn on a row until `signal` aborts. The returned function ends the turn. After an
   * abort it does nothing.
   */
  take(row: string, signal: AbortSignal | undefined): Promise<EndTurn> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve(nothing);
      let stopListening = nothing;
      let hasBegun = false;
      const waiting = this.wait(row, (end) => {
        hasBegun = true;
        stopListening();
        resolve(end);
      });
      if (hasBegun) return;
      stopListening = onAbort(signal, () => {
        waiting.cancel();
        resolve(nothing);
      });
    });
  }

  /**
   * Calls `begin` when the earlier turns have ended, which may be at once. Never calls it after a
   * cancel. A turn longer than 5 s counts as ended.
   */
  wait(row: string, begin: (end: EndTurn) => void): Timer {
    const line = this.#lines.get(row);
    if (line === undefined) {
      const first: Line = { waiting: new Set(), end: nothing, begunAt: 0, timer: undefined };
      this.#lines.set(row, first);
      begin(this.#begin(row, first));
      return { cancel: nothing };
    }
    line.waiting.add(begin);
    this.#watch(line);
    return { cancel: () => line.waiting.delete(begin) };
  }

  #begin(row: string, line: Line): EndTurn {
    const end = () => {
      if (line.end === end) this.#next(row, line);
    };
    line.end = end;
    line.begunAt = this.#environment.monotonic();
    return end;
  }

  #next(row: string, line: Line): void {
    line.timer?.cancel();
    line.timer = undefined;
    line.end = nothing;
    const [begin] = line.waiting;
    if (begin === undefined) {
      this.#lines.delete(row);
      return;
    }
    line.waiting.delete(begin);
    const end = this.#begin(row, line);
    if (line.waiting.size > 0) this.#watch(line);
    begin(end);
  }

  #watch(line: Line): void {
    if (line.timer !== undefined) return;
    const lastedMs = this.#environment.monotonic() - line.begunAt;
    line.timer = this.#environment.setTimer(() => line.end(), Math.max(0, maxTurnMs - lastedMs));
  }
}

function nothing(): void {}
