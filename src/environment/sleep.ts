import type { Environment } from "./environment.js";
import { onAbort } from "./on-abort.js";

/**
 * Resolves after `delayMs` milliseconds of the environment's time; rejects with the signal's reason at once
 * when it is aborted, before or meanwhile.
 */
export function sleep(environment: Environment, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const timer = environment.setTimer(() => {
      stopListening();
      resolve();
    }, delayMs);
    const stopListening = onAbort(signal, () => {
      timer.cancel();
      reject(signal?.reason);
    });
  });
}
