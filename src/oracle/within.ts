import { abortError, type Environment, onAbort } from "../environment/index.js";
import { OracleUnavailableError } from "../errors/index.js";

export interface WithinOptions {
  readonly environment: Environment;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** For messages: the subject of "got no answer". */
  readonly doing: string;
}

/**
 * Asks, and waits no longer than the time allows: then, and where the signal is aborted, it aborts
 * what was asked and rejects at once, whether or not the one that was asked takes notice.
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

/** Whatever `ask` throws at once comes as a rejection. */
async function start<T>(ask: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return await ask(signal);
}
