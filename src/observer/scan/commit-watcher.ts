import type { Environment, Timer } from "../../environment/index.js";
import type { AtomicStore, CommitWatch, MaybePromise, RowStore } from "../../store/index.js";

/**
 * Milliseconds between two reads of the counter: `minMs` after a commit, then longer each time, up
 * to `maxMs`.
 */
const minMs = 5;
const maxMs = 50;
/**
 * The same, if the store reports commits of other processes itself. Then only a report makes the
 * pauses short again: the store may hold the next report back for a while, and without a report, the
 * counter was moved by this process.
 */
const maxWatchedMs = 250;
const slowing = 1.1;

export interface CommitWatcherOptions {
  readonly environment: Environment;
  readonly counter: AtomicStore["counter"];
  readonly watch: AtomicStore["watch"];
  /** Whether this process runs nothing. If so, only another process can have moved the counter. */
  readonly isQuiet: () => boolean;
  /** Called when another process has committed. */
  readonly onMoved: () => void;
}

/**
 * Notices commits of other processes within milliseconds: the store reports them, or the counter has
 * moved. Reading the counter of a store on this
 * machine costs a few microseconds, and of a remote one a short query, of which at most one is under
 * way. Looking for hints costs several reads for each observer.
 */
export class CommitWatcher {
  readonly #options: CommitWatcherOptions;
  #seen: number | undefined;
  #pauseMs = minMs;
  #timer: Timer | undefined;
  readonly #watch: CommitWatch | undefined;
  #isLooking = false;
  /** Whether the store has reported a commit since the last read of the counter ended. */
  #isReported = false;
  #stopped = false;

  constructor(options: CommitWatcherOptions) {
    this.#options = options;
    this.#watch = options.watch?.(() => this.#reported());
    this.#schedule();
  }

  /** The counter need not be read first: the store reports only commits of other processes. */
  #reported(): void {
    if (this.#stopped) return;
    this.#isReported = true;
    if (this.#options.isQuiet()) this.#options.onMoved();
    if (this.#isLooking || this.#stopped) return;
    this.#timer?.cancel();
    this.#pauseMs = minMs;
    this.#schedule();
  }

  #schedule(): void {
    this.#timer = this.#options.environment.setTimer(() => this.#look(), this.#pauseMs, { background: true });
  }

  #look(): void {
    this.#isLooking = true;
    const counter = this.#counter();
    if (counter instanceof Promise) {
      counter.then(
        (value) => this.#note(value),
        () => this.#note(undefined),
      );
    } else this.#note(counter);
  }

  /** Takes note of the counter, undefined if the store could not read it, and looks again later. */
  #note(counter: number | undefined): void {
    this.#isLooking = false;
    if (this.#stopped) return;
    const moved = counter !== undefined && counter !== this.#seen;
    const isFirst = this.#seen === undefined;
    this.#seen = counter ?? this.#seen;
    const isReported = this.#isReported;
    this.#isReported = false;
    const isLive = this.#watch?.isLive === true;
    const isSoon = isLive ? isReported : moved;
    this.#pauseMs = isSoon ? minMs : Math.min(isLive ? maxWatchedMs : maxMs, this.#pauseMs * slowing);
    if (moved && !isFirst && !isReported && this.#options.isQuiet()) this.#options.onMoved();
    if (!this.#stopped) this.#schedule();
  }

  /** The store's counter. If the read fails, the next scan fails in the same way, and reports it. */
  #counter(): MaybePromise<number | undefined> {
    try {
      return this.#options.counter();
    } catch {
      return undefined;
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#watch?.close();
  }
}

/**
 * Watches a store that other processes may write to and that has a counter. Undefined for any other
 * store.
 */
export function watchCommits(
  store: RowStore,
  options: Omit<CommitWatcherOptions, "counter" | "watch">,
): CommitWatcher | undefined {
  const { atomic, capabilities } = store;
  if (atomic === undefined || !capabilities.shared) return undefined;
  return new CommitWatcher({
    ...options,
    counter: () => atomic.counter(),
    watch: atomic.watch?.bind(atomic),
  });
}
