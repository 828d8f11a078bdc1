import { abortError } from "./abort.js";
import type { Environment } from "./environment.js";
import { onAbort } from "./on-abort.js";

/**
 * Resolves after `delayMs` milliseconds of the environment's time. If `signal` is or becomes
 * aborted, rejects at once with {@link abortError}; `doing` is the subject of its message.
 */
export function sleep(
  environment: Environment,
  delayMs: number,
  signal?: AbortSignal,
  doing = "Waiting",
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortError(signal, doing));
      return;
    }
    const timer = environment.setTimer(() => {
      stopListening();
      resolve();
    }, delayMs);
    const stopListening = onAbort(signal, () => {
      timer.cancel();
      reject(abortError(signal!, doing));
    });
  });
}

/**
 * Resolves after the event loop has had a turn. A loop over a store that answers synchronously
 * needs this, since it would otherwise block other work.
 */
export function eventLoopTurn(environment: Environment): Promise<void> {
  return new Promise((resolve) => environment.defer(resolve));
}
