import { AbortedError, PercolatorError, TimeoutError } from "./errors.js";

/** The error to throw for an aborted signal: its reason where that is ours, else an {@link AbortedError}. */
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
