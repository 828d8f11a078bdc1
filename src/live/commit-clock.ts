import { type Environment, type Timer, unlessAborted } from "../environment/index.js";
import { currentTimestamp } from "../oracle/index.js";
import { type CommitWatch, isRemote } from "../store/index.js";
import type { TransactionContext } from "../transaction/index.js";

/** Milliseconds between two looks at the store's counter: of a store on this machine, and of another. */
const lookMs = 5;
const remoteLookMs = 20;
/**
 * The same, if commits are reported: by the store itself, or by this process because no other one
 * can write to the store.
 */
const watchedLookMs = 250;
/** Milliseconds between two timestamps from the oracle of a store that does not count commits. */
const blindLookMs = 100;
/**
 * Milliseconds for which a timestamp is given out without a new look. A reader with a backlog never
 * waits for a commit, and the safepoint must not reach the timestamp at which it reads.
 */
const maxAgeMs = 1_000;

interface Waiting {
  readonly after: number;
  readonly resolve: () => void;
}

/**
 * Tells all readers of one database that there may be newer commits, by any process. All of them
 * share one look at the store, so thousands may wait.
 */
export class CommitClock {
  readonly #context: TransactionContext;
  readonly #environment: Environment;
  readonly #waiting = new Set<Waiting>();
  #now = 0;
  #timer: Timer | undefined;
  #isLooking = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** When `#now` was the newest timestamp. */
  #knownAt = Number.NEGATIVE_INFINITY;
  /** Whether a commit was reported since the last look. */
  #isMoved = false;
  #watch: CommitWatch | undefined;
  #stopWatching: (() => void) | undefined;

  constructor(context: TransactionContext) {
    this.#context = context;
    this.#environment = context.environment;
  }

  /**
   * Resolves when the store may have commits above `timestamp`, with a timestamp up to which all
   * commits can be read.
   */
  async after(timestamp: number, signal: AbortSignal | undefined): Promise<number> {
    const isFresh = this.#environment.monotonic() - this.#knownAt < maxAgeMs;
    if (isFresh && this.#now > timestamp) return this.#now;
    let waiting: Waiting | undefined;
    const moved = new Promise<void>((resolve) => {
      waiting = { after: timestamp, resolve };
      this.#waiting.add(waiting);
    });
    this.#beginWatching();
    this.#lookSoon();
    try {
      await unlessAborted(moved, signal, "Waiting for a commit");
    } finally {
      this.#waiting.delete(waiting!);
    }
    return this.#now;
  }

  /** Stops looking. */
  close(): void {
    this.#timer?.cancel();
    this.#stopWatching?.();
  }

  /** From the first reader on, commits are reported: by the store, or by this process itself. */
  #beginWatching(): void {
    if (this.#stopWatching !== undefined) return;
    const { store, events } = this.#context;
    const onCommit = () => {
      this.#isMoved = true;
      this.#lookSoon();
    };
    const watch = store.atomic?.watch?.(onCommit);
    const stopListening = events.on("commit", onCommit);
    this.#watch = watch;
    this.#stopWatching = () => {
      watch?.close();
      stopListening();
    };
  }

  /** Looks now if a commit was reported, else after a pause since the last look. */
  #lookSoon(): void {
    if (this.#isLooking || this.#waiting.size === 0) return;
    const waitMs = this.#isMoved ? 0 : this.#lookedAt + this.#pauseMs - this.#environment.monotonic();
    if (waitMs <= 0) {
      this.#timer?.cancel();
      this.#timer = undefined;
      void this.#look();
    } else this.#timer ??= this.#environment.setTimer(() => void this.#look(), waitMs);
  }

  get #pauseMs(): number {
    const { store } = this.#context;
    if (store.atomic === undefined) return blindLookMs;
    if (this.#watch?.isLive === true || !store.capabilities.shared) return watchedLookMs;
    return isRemote(store) ? remoteLookMs : lookMs;
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    if (this.#waiting.size === 0) return;
    this.#isLooking = true;
    this.#isMoved = false;
    const askedAt = this.#environment.monotonic();
    try {
      this.#now = Math.max(this.#now, await currentTimestamp(this.#context));
      this.#knownAt = askedAt;
    } catch {
      // The readers go on waiting. A read of their own reports the store's failure.
    } finally {
      this.#isLooking = false;
      this.#lookedAt = this.#environment.monotonic();
    }
    for (const { after, resolve } of this.#waiting) if (after < this.#now) resolve();
    this.#lookSoon();
  }
}
