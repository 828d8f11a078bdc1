import { type Environment, onAbort, type Timer } from "../environment/index.js";

/** Milliseconds after which a turn counts as ended: a transaction that waits inside another one's function must not wait for ever. */
const maxTurnMs = 5_000;

/** Ends a turn. Harmless to repeat. */
export type EndTurn = () => void;

/** Who has the turn on a row, and who waits for it, in order. */
interface Line {
  readonly waiting: Set<(end: EndTurn) => void>;
  end: EndTurn;
  begunAt: number;
  /** Ends a turn that lasts too long; set while anybody waits. */
  timer: Timer | undefined;
}

/**
 * Turns on rows that transactions of this process conflict on: those of `db.transact` and those of observers. A transaction that lost
 * such a conflict runs again when those before it have ended. Side by side all of them but one would lose again.
 */
export class RowTurns {
  readonly #environment: Environment;
  readonly #lines = new Map<string, Line>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Rows on which somebody has a turn. */
  get size(): number {
    return this.#lines.size;
  }

  /** Waits for a turn on a row, and no longer than `signal` allows. The answer ends the turn; after an abort there is none to end. */
  take(row: string, signal: AbortSignal | undefined): Promise<EndTurn> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve(nothing);
      let stopListening = nothing;
      const waiting = this.wait(row, (end) => {
        stopListening();
        resolve(end);
      });
      stopListening = onAbort(signal, () => {
        waiting.cancel();
        resolve(nothing);
      });
    });
  }

  /**
   * Calls `begin` when those before it have ended their turns, which may be at once; not if it is cancelled before. A turn that lasts
   * longer than 5 s counts as ended for those who wait.
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
