import { abortError, type Environment, onAbort } from "../environment/index.js";
import { OracleUnavailableError } from "../errors/index.js";

export interface WithinOptions {
  readonly environment: Environment;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** The subject of the message "... got no answer". */
  readonly doing: string;
}

/**
 * Calls `ask` with a time limit. If the time passes or `signal` is aborted, it aborts the signal of
 * `ask` and rejects at once, even if `ask` ignores its signal.
 */
export function within<T>(options: WithinOptions, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { environment, timeoutMs, signal, doing } = options;
  if (signal?.aborted) return Promise.reject(abortError(signal, doing));
  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const end = () => {
      timer.cancel();
      stopListening();
    };
    const giveUp = (error: Error) => {
      end();
      reject(error);
      controller.abort(error);
    };
    const timer = environment.setTimer(() => {
      giveUp(new OracleUnavailableError(`${doing} got no answer within ${timeoutMs} ms. Try again.`));
    }, timeoutMs);
    const stopListening = onAbort(signal, () => giveUp(abortError(signal!, doing)));
    start(ask, controller.signal).then(resolve, reject).finally(end);
  });
}

/** Turns an error that `ask` throws synchronously into a rejection. */
async function start<T>(ask: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return await ask(signal);
}
