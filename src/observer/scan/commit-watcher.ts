import type { Environment, Timer } from "../../environment/index.js";
import type { AtomicStore, RowStore } from "../../store/index.js";

/**
 * Milliseconds between two reads of the counter: `minMs` after a commit, then longer each time, up
 * to `maxMs`.
 */
const minMs = 5;
const maxMs = 50;
const slowing = 1.1;

export interface CommitWatcherOptions {
  readonly environment: Environment;
  readonly counter: AtomicStore["counter"];
  /** Whether this process runs nothing. If so, only another process can have moved the counter. */
  readonly isQuiet: () => boolean;
  /** Called when another process has committed. */
  readonly onMoved: () => void;
}

/**
 * Notices commits of other processes within milliseconds. Reading the counter of a store on this
 * machine costs a few microseconds. Looking for hints costs several reads for each observer.
 */
export class CommitWatcher {
  readonly #options: CommitWatcherOptions;
  #seen: number | undefined;
  #pauseMs = minMs;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: CommitWatcherOptions) {
    this.#options = options;
    this.#schedule();
  }

  #schedule(): void {
    this.#timer = this.#options.environment.setTimer(() => this.#look(), this.#pauseMs, { background: true });
  }

  #look(): void {
    const counter = this.#counter();
    const moved = counter !== undefined && counter !== this.#seen;
    const isFirst = this.#seen === undefined;
    this.#seen = counter ?? this.#seen;
    this.#pauseMs = moved ? minMs : Math.min(maxMs, this.#pauseMs * slowing);
    if (moved && !isFirst && this.#options.isQuiet()) this.#options.onMoved();
    if (!this.#stopped) this.#schedule();
  }

  /** The store's counter. Undefined if the read fails, or if the store does not answer at once. */
  #counter(): number | undefined {
    try {
      const counter = this.#options.counter();
      if (typeof counter === "number") return counter;
      counter.catch(() => undefined);
    } catch {
      // The next scan fails in the same way, and reports the failure.
    }
    return undefined;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }
}

/**
 * Watches a store that other processes of this machine may write to. Undefined for any other store.
 */
export function watchCommits(
  store: RowStore,
  options: Omit<CommitWatcherOptions, "counter">,
): CommitWatcher | undefined {
  const { atomic, capabilities } = store;
  if (atomic === undefined || !capabilities.shared) return undefined;
  return new CommitWatcher({ ...options, counter: () => atomic.counter() });
}
