import type { Environment } from "../../index.js";

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
