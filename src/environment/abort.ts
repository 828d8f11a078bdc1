import { AbortedError, PercolatorError, TimeoutError } from "../errors/index.js";
import { onAbort } from "./on-abort.js";

/**
 * The error to throw for an aborted signal: its reason if that is an error of this package, a
 * TimeoutError if the signal's deadline passed, else an {@link AbortedError}.
 */
export function abortError(signal: AbortSignal, doing: string): PercolatorError {
  const reason: unknown = signal.reason;
  if (reason instanceof PercolatorError) return reason;
  if (reason instanceof DOMException && reason.name === "TimeoutError") {
    return new TimeoutError(`${doing} did not finish before its deadline`, { cause: reason });
  }
  return new AbortedError(`${doing} was aborted by its signal`, { cause: reason });
}

/** Throws {@link abortError} if `signal` is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined, doing: string): void {
  if (signal?.aborted) throw abortError(signal, doing);
}

/**
 * Waits for a promise that other callers may wait for too. If `signal` is aborted first, rejects
 * with {@link abortError}.
 */
export function unlessAborted<T>(
  waited: Promise<T>,
  signal: AbortSignal | undefined,
  doing: string,
): Promise<T> {
  if (signal === undefined) return waited;
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(abortError(signal, doing));
    if (signal.aborted) giveUp();
    const stopListening = onAbort(signal, giveUp);
    waited.then(
      (value) => {
        stopListening();
        resolve(value);
      },
      (error: unknown) => {
        stopListening();
        reject(error);
      },
    );
  });
}

/**
 * Calls `use` with a signal that is aborted when any of `signals` is, with the same reason.
 * `AbortSignal.any` is not reliable: Node may garbage-collect the signals given to it, and then
 * never aborts the joined signal (seen with a timeout in Node 20, with a controller in 24.16). This
 * function holds the given signals until `use` has ended.
 */
export async function underSignals<T>(
  signals: readonly (AbortSignal | undefined)[],
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, stop } = either(signals);
  try {
    return await use(signal);
  } finally {
    stop();
  }
}

/** Like {@link underSignals}, for what `read` yields. */
export async function* readUnderSignals<T>(
  signals: readonly (AbortSignal | undefined)[],
  read: (signal: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  const { signal, stop } = either(signals);
  try {
    yield* read(signal);
  } finally {
    stop();
  }
}

function either(signals: readonly (AbortSignal | undefined)[]) {
  const controller = new AbortController();
  const listening = signals.map((signal) => {
    const follow = () => controller.abort(signal?.reason);
    if (signal?.aborted) follow();
    return onAbort(signal, follow);
  });
  const stop = () => {
    for (const each of listening) each();
  };
  return { signal: controller.signal, stop };
}
