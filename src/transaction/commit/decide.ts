import {
  abortError,
  backoffDelay,
  type Environment,
  onAbort,
  sleep,
  type Timer,
} from "../../environment/index.js";
import { CommitOutcomeUnknownError, isRetryable } from "../../errors/index.js";
import type { TransactionContext } from "../context.js";
import type { CommitRequest } from "./request.js";

/**
 * 2 s: how long a step that settles a commit may run after the signal was aborted. An available
 * store answers sooner.
 */
const graceMs = 2_000;
const waiting = { initialMs: 10, maximumMs: 2_000 };

/**
 * Asks for the outcome of a commit that was sent. Asks again during an outage of the store, until
 * the transaction's deadline and for at most the retention. After the retention, collection may
 * have dropped the outcome. Throws a `CommitOutcomeUnknownError` if no answer came.
 */
export async function askOutcome<T>(
  { environment, settings }: TransactionContext,
  { start, signal }: CommitRequest,
  ask: () => T | Promise<T>,
): Promise<T> {
  const until = environment.monotonic() + settings.retentionMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await shortlyAfter(environment, signal, async () => ask());
    } catch (cause) {
      const waitMs = backoffDelay(environment, waiting, attempt);
      const mayPass = isRetryable(cause) && !signal?.aborted;
      if (!mayPass || environment.monotonic() + waitMs >= until) throw outcomeUnknown(start, cause);
      await sleep(environment, waitMs, signal).catch(() => undefined);
    }
  }
}

function outcomeUnknown(start: number, cause: unknown): CommitOutcomeUnknownError {
  return new CommitOutcomeUnknownError(
    `It is not known whether the transaction that started at ${start} committed, because the store failed. ` +
      "Read the cells that it would have written before you repeat it.",
    { cause },
  );
}

/**
 * Waits for `run`, but at most 2 s after `signal` is aborted. After that, `run` continues in the
 * background.
 */
export function shortlyAfter<T>(
  environment: Environment,
  signal: AbortSignal | undefined,
  run: () => Promise<T>,
): Promise<T> {
  const running = run();
  if (signal === undefined) return running;
  return new Promise((resolve, reject) => {
    let timer: Timer | undefined;
    const giveUpSoon = () => {
      timer = environment.setTimer(() => reject(abortError(signal, "A commit")), graceMs);
    };
    const stopListening = onAbort(signal, giveUpSoon);
    if (signal.aborted) giveUpSoon();
    running.then(resolve, reject).finally(() => {
      stopListening();
      timer?.cancel();
    });
  });
}
