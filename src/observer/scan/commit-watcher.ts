import type { Environment, Timer } from "../../environment/index.js";
import type { AtomicStore, RowStore } from "../../store/index.js";

/**
 * Milliseconds between two looks: after something was committed, and when nothing has been for a
 * while.
 */
const minMs = 5;
const maxMs = 50;
const slowing = 1.1;

export interface CommitWatcherOptions {
  readonly environment: Environment;
  readonly counter: AtomicStore["counter"];
  /** Whether this process has nothing under way, so that what moves the counter is another's. */
  readonly isQuiet: () => boolean;
  /** Called when somebody has committed something meanwhile. */
  readonly onMoved: () => void;
}

/**
 * Notices what other processes commit, milliseconds later. A look at the counter of a store in this
 * machine costs a few microseconds, where a look for hints costs reads for each observer.
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

  /** Undefined where it cannot be read at once: whoever has to know why reads it again. */
  #counter(): number | undefined {
    try {
      const counter = this.#options.counter();
      if (typeof counter === "number") return counter;
      counter.catch(() => undefined);
    } catch {
      // The scan that comes anyway meets the same failure, and tells of it.
    }
    return undefined;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }
}

/** Watches a store that other processes of this machine may write to; undefined for any other. */
export function watchCommits(
  store: RowStore,
  options: Omit<CommitWatcherOptions, "counter">,
): CommitWatcher | undefined {
  const { atomic, capabilities } = store;
  if (atomic === undefined || !capabilities.shared) return undefined;
  return new CommitWatcher({ ...options, counter: () => atomic.counter() });
}
