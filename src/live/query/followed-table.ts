import type { FeedCursor, FeedSource } from "../feed/changes.js";
import type { CommittedEntry } from "../feed/feed-entries.js";
import { openLeased } from "../feed/open-leased.js";

/** The most entries in memory at a time. */
const batch = 1_000;

/** Follows the changes of a table through its leased feed, for all live queries that read it. */
export class FollowedTable {
  readonly name: string;
  /**
   * Every change of later commits is found. Infinity until the feed is recorded. On a store without
   * atomic batches, this timestamp is up to two seconds in the future at first.
   */
  completeFrom = Number.POSITIVE_INFINITY;
  /** Resolves when {@link completeFrom} is known. Rejects if the feed cannot be recorded. */
  readonly ready: Promise<void>;
  readonly #source: FeedSource;
  readonly #end = new AbortController();
  #cursor: FeedCursor | undefined;
  #release: (() => void) | undefined;

  constructor(source: FeedSource, name: string) {
    this.#source = source;
    this.name = name;
    this.ready = this.#begin();
  }

  get isEnded(): boolean {
    return this.#end.signal.aborted;
  }

  async #begin(): Promise<void> {
    const { signal } = this.#end;
    const { cursor, release } = await openLeased(this.#source, { table: this.name }, undefined, signal);
    this.#release = release;
    if (signal.aborted) return release();
    this.#cursor = cursor;
    this.completeFrom = cursor.position;
  }

  /**
   * Reads the entries of all commits up to a timestamp, in batches. Rejects if the feed was lost:
   * see `isLoss`.
   */
  async read(upTo: number, tell: (entries: readonly CommittedEntry[]) => void): Promise<void> {
    const cursor = this.#cursor;
    while (cursor !== undefined && cursor.position < upTo && !this.isEnded) {
      const { entries } = await cursor.read(upTo, batch, this.#end.signal);
      tell(entries);
    }
  }

  /** Gives the feed up. It ends unless another reader holds it. */
  end(): void {
    this.#end.abort();
    this.#release?.();
  }
}
