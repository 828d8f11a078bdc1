import { readUnderSignals } from "../environment/index.js";

/**
 * What `read` yields under signals, as a generator that `return` ends at once, also while a `next` is
 * waiting: that `next` then says that the generator is done. An async generator alone would not
 * return before the next value.
 */
export function endable<T>(
  signals: readonly (AbortSignal | undefined)[],
  read: (signal: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  const returned = new AbortController();
  const values = readUnderSignals([...signals, returned.signal], read);
  const done = { done: true as const, value: undefined };
  return {
    async next() {
      try {
        return await values.next();
      } catch (error) {
        if (returned.signal.aborted) return done;
        throw error;
      }
    },
    async return() {
      returned.abort();
      await values.return().catch(() => undefined);
      return done;
    },
    async throw(error) {
      returned.abort();
      await values.return().catch(() => undefined);
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
