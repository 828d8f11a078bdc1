import { abortError, onAbort, readUnderSignals } from "../environment/index.js";

const done = { done: true, value: undefined } as const;

/**
 * What `read` yields under signals, as a generator that `return` ends at once, also while a `next` is
 * waiting: that `next` then says that the generator is done. An async generator alone would not
 * return before the next value.
 *
 * If a signal is aborted between two calls of `next`, the generator releases at once what it holds,
 * because its caller may never ask again. If it does, `next` rejects.
 */
export function endable<T>(
  signals: readonly (AbortSignal | undefined)[],
  read: (signal: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  const returned = new AbortController();
  const values = readUnderSignals([...signals, returned.signal], read);
  let stopListening: readonly (() => void)[] | undefined;
  /** Why a signal has ended it, until a `next` has told so. */
  let untold: Error | undefined;

  const listen = (signal: AbortSignal | undefined) =>
    onAbort(signal, () => {
      untold ??= abortError(signal!, "Waiting for changes");
      void end();
    });
  const end = async () => {
    for (const stop of stopListening ?? []) stop();
    await values.return().catch(() => undefined);
  };

  return {
    async next() {
      stopListening ??= signals.map(listen);
      try {
        const next = await values.next();
        if (next.done !== true || untold === undefined) return next;
        throw untold;
      } catch (error) {
        await end();
        untold = undefined;
        if (returned.signal.aborted) return done;
        throw error;
      }
    },
    async return() {
      returned.abort();
      await end();
      return done;
    },
    async throw(error) {
      returned.abort();
      await end();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await this.return();
    },
  };
}
