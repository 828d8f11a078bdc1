import { abortError, type Environment, onAbort } from "../environment/index.js";
import { type PercolatorError, TimeoutError } from "../errors/index.js";

/** A signal that follows another, and a deadline. */
export interface Deadline {
  readonly signal: AbortSignal | undefined;
  /** Has `run` called once it is over, at once where it is already; not after {@link end}. */
  whenOver(run: (reason: PercolatorError) => void): void;
  /** Frees the timer, and forgets who is to be called. */
  end(): void;
}

function doNothing(): void {}

const noDeadline: Deadline = Object.freeze({ signal: undefined, whenOver: doNothing, end: doNothing });

/** Joins a caller's signal with a deadline of `timeoutMs` from now, by the environment's timers. */
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
    controller.abort(new TimeoutError(`${doing} did not finish within ${timeoutMs} ms`));
  }, timeoutMs);
  return new SignalDeadline(controller.signal, doing, () => {
    timer.cancel();
    stopListening();
  });
}

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

  // Not a method: it is handed on by itself.
  readonly end = (): void => {
    this.#hasEnded = true;
    this.#stopListening();
    this.#free();
  };
}
