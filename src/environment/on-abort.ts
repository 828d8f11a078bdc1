/** A call that waits for the abort of a signal. An object, so that a function can wait twice. */
interface Waiting {
  readonly run: () => void;
}

/** What waits on a signal, and the only listener that the signal has from here. */
interface Listener {
  readonly waiting: Set<Waiting>;
  readonly tell: () => void;
}

const listeners = new WeakMap<AbortSignal, Listener>();

/**
 * Calls `run` once when `signal` is aborted. Does not call it if the signal was aborted before.
 * Returns a function that stops listening.
 *
 * Any number of calls may wait on one signal, as all live queries of a program do that end with it.
 * The signal itself compares each new listener with all that it has, so it gets only one.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (signal === undefined || signal.aborted) return doNothing;
  const waiting: Waiting = { run };
  const listener = listeners.get(signal) ?? listen(signal);
  listener.waiting.add(waiting);
  return () => {
    if (!listener.waiting.delete(waiting) || listener.waiting.size > 0) return;
    signal.removeEventListener("abort", listener.tell);
    if (listeners.get(signal) === listener) listeners.delete(signal);
  };
}

function listen(signal: AbortSignal): Listener {
  const waiting = new Set<Waiting>();
  const tell = () => {
    listeners.delete(signal);
    // A call may stop one that comes later: that one does not run.
    for (const each of [...waiting]) if (waiting.delete(each)) runAlone(each);
  };
  const listener = { waiting, tell };
  listeners.set(signal, listener);
  signal.addEventListener("abort", tell, { once: true });
  return listener;
}

/** As the signal does with its own listeners: an error is uncaught, and the others run nevertheless. */
function runAlone({ run }: Waiting): void {
  try {
    run();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

function doNothing(): void {}
