import { setMaxListeners } from "node:events";

/**
 * Calls `run` once when `signal` is aborted. Does not call it if the signal was aborted before.
 * Returns a function that stops listening. Any number of calls may wait on one signal, so this
 * function switches off Node's warning about more than ten listeners.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (signal === undefined) return doNothing;
  setMaxListeners(0, signal);
  signal.addEventListener("abort", run, { once: true });
  return () => signal.removeEventListener("abort", run);
}

function doNothing(): void {}
