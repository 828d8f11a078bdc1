import type { Environment } from "../index.js";

/**
 * Sleeps for `ms` milliseconds. Resolves early, without an error, as soon as the signal is aborted.
 */
export function sleepOrEnd(
  environment: Environment,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const end = () => {
      timer.cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = environment.setTimer(end, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}

/**
 * Waits for a promise. Rejects with the signal's reason as soon as the signal is aborted. The work
 * behind the promise may still continue.
 */
export function unlessAborted<T>(waited: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return waited;
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
    const end = () => signal.removeEventListener("abort", giveUp);
    waited.then(resolve, reject).finally(end);
  });
}
