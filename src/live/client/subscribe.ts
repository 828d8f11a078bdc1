import type { LiveClientOptions, LiveError, LiveState, LiveSubscription } from "./options.js";
import { type Message, type Received, receive } from "./receive.js";

/** Makes a subscription: it begins at once if it has a function to call, else when a loop reads it. */
export function subscribe<T>(
  url: string,
  options: LiveClientOptions,
  take: ((value: T) => unknown) | undefined,
  decode: (messages: readonly Message[]) => readonly Received<T>[],
): LiveSubscription<T> {
  const { signal: given, onState, onError } = options;
  const ending = new AbortController();
  const { signal } = ending;
  let state: LiveState | undefined;
  const change = (next: LiveState) => {
    if (next === state) return;
    state = next;
    onState?.(next);
  };
  const close = () => {
    ending.abort();
    change("closed");
  };
  const begin = async function* (): AsyncGenerator<T, void, undefined> {
    if (given?.aborted) close();
    given?.addEventListener("abort", close);
    try {
      yield* receive(url, options, { signal, onState: change, decode });
    } finally {
      given?.removeEventListener("abort", close);
      change("closed");
    }
  };
  if (take) void run(begin(), take, signal, onError);
  return {
    get state() {
      return state ?? "connecting";
    },
    close,
    [Symbol.asyncIterator]: begin,
  };
}

async function run<T>(
  values: AsyncGenerator<T, void, undefined>,
  take: (value: T) => unknown,
  signal: AbortSignal,
  onError: ((error: LiveError) => void) | undefined,
): Promise<void> {
  try {
    // Nothing is called before the program has its subscription.
    await undefined;
    let next = await values.next();
    while (!next.done && !signal.aborted) {
      try {
        await take(next.value);
      } catch (error) {
        next = await values.throw(error);
        continue;
      }
      next = await values.next();
    }
    await values.return();
  } catch (error) {
    onError?.(error as LiveError);
  }
}
