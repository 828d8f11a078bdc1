import { abortError, type Environment, onAbort } from "../environment/index.js";
import { type PercolatorError, TimeoutError } from "../errors/index.js";

/** An abort signal that combines the caller's signal with a deadline. */
export interface Deadline {
  readonly signal: AbortSignal | undefined;
  /**
   * Calls `run` when the signal aborts, or at once if it already has. Never calls it after {@link
   * end}.
   */
  whenOver(run: (reason: PercolatorError) => void): void;
  /** Cancels the timer and drops the function given to {@link whenOver}. */
  end(): void;
}

function doNothing(): void {}

const noDeadline: Deadline = Object.freeze({ signal: undefined, whenOver: doNothing, end: doNothing });

/** Combines a caller's signal with a deadline `timeoutMs` from now, on the environment's timers. */
export function deadline(
  environment: Environment,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  doing: string,
): Deadline {
  if (timeoutMs === undefined)
    return signal === undefined ? noDeadline : new SignalDeadline(signal, doing, doNothing);
  const controller = new AbortController();
  const follow = () => controller.abort(signal?.reason);
  if (signal?.aborted) follow();
  const stopListening = onAbort(signal, follow);
  const timer = environment.setTimer(() => {
    controller.abort(overdue(doing, timeoutMs));
  }, timeoutMs);
  return new SignalDeadline(controller.signal, doing, () => {
    timer.cancel();
    stopListening();
  });
}

/** What a call fails with when its deadline has passed. */
export function overdue(doing: string, timeoutMs: number): TimeoutError {
  return new TimeoutError(
    `${doing} did not finish within ${timeoutMs} ms. Repeat it, or give a longer \`timeoutMs\`.`,
  );
}

/**
 * A {@link Deadline} that has an abort signal. `free` cancels the timer and stops following the
 * caller's signal.
 */
class SignalDeadline implements Deadline {
  readonly signal: AbortSignal;
  readonly #doing: string;
  readonly #free: () => void;
  #stopListening = doNothing;
  #hasEnded = false;

  constructor(signal: AbortSignal, doing: string, free: () => void) {
    this.signal = signal;
    this.#doing = doing;
    this.#free = free;
  }

  whenOver(run: (reason: PercolatorError) => void): void {
    if (this.#hasEnded) return;
    const tell = () => run(abortError(this.signal, this.#doing));
    if (this.signal.aborted) tell();
    else this.#stopListening = onAbort(this.signal, tell);
  }

  // A property instead of a method, because callers pass it on without its object.
  readonly end = (): void => {
    this.#hasEnded = true;
    this.#stopListening();
    this.#free();
  };
}
