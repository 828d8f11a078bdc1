import {
  abortError,
  backoffDelay,
  type Environment,
  onAbort,
  sleep,
  type Timer,
} from "../../environment/index.js";
import { CommitOutcomeUnknownError, PercolatorError } from "../../errors/index.js";
import type { TransactionContext } from "../context.js";
import type { CommitRequest } from "./request.js";

/** How long a step that settles a commit still goes on after the transaction was given up, in milliseconds: a store that answers does so in less. */
const graceMs = 2_000;
const waiting = { initialMs: 10, maximumMs: 2_000 };

/**
 * Asks what became of a commit that was sent. While the store is away it asks again: until the transaction's deadline, and no longer than
 * the retention, after which nothing can be found out. Then the outcome is not known.
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
      const mayPass = cause instanceof PercolatorError && cause.retryable && !signal?.aborted;
      if (!mayPass || environment.monotonic() + waitMs >= until) throw outcomeUnknown(start, cause);
      await sleep(environment, waitMs, signal).catch(() => undefined);
    }
  }
}

function outcomeUnknown(start: number, cause: unknown): CommitOutcomeUnknownError {
  return new CommitOutcomeUnknownError(
    `Whether the transaction that started at ${start} committed could not be found out: the store failed. ` +
      "Read what it would have written before doing it again.",
    { cause },
  );
}

/** Waits for what `run` does, and no longer than shortly after `signal` was aborted; what it does goes on by itself then. */
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
