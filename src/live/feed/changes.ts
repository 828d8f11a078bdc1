import {
  InvalidArgumentError,
  SchemaError,
  StaleSnapshotError,
  StoreDamagedError,
} from "../../errors/index.js";
import type { FeedRecord, Registry } from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { describeValue, type Feed, type FeedColumn, isFeed } from "../../schema/index.js";
import { checkNotMilliseconds } from "../../transaction/index.js";
import type { CommitClock } from "../commit-clock.js";
import { changesOf, type FeedChange } from "./feed-change.js";
import { type EntryBatch, entriesOrDamage } from "./feed-entries.js";
import { mayBeTrimmed, readMark } from "./feed-marks.js";
import { isLoss } from "./is-loss.js";
import type { FeedLeases } from "./leases.js";

/** The options of `db.changes`. Each has a default. */
export interface ChangesOptions {
  /**
   * Only changes of transactions that committed after this timestamp: that of a snapshot, or the
   * `commitTimestamp` of the last change that was handled. Default: the moment of the first `next`.
   */
  readonly since?: number | undefined;
  /** Ends the wait for changes: `next` then rejects. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** The most transactions that one read of the store takes. Default: 1,000. */
  readonly batch?: number | undefined;
  /**
   * Called once, when it is certain that the feed can begin, with the timestamp after which changes
   * come. That may be long before the first change. Default: none.
   */
  readonly onBegin?: ((timestamp: number) => void) | undefined;
}

/** What reading a feed needs of the database. */
export interface FeedSource {
  readonly registry: Registry;
  readonly clock: CommitClock;
  readonly leases: FeedLeases;
}

const defaultBatch = 1_000;
const maxBatch = 100_000;

/** Follows a feed: see `Database.changes`. */
export async function* changes<C extends FeedColumn>(
  source: FeedSource,
  feed: Feed<C>,
  options: ChangesOptions = {},
): AsyncGenerator<FeedChange<C>, void, undefined> {
  const { signal } = options;
  const limit = checkedBatch(options.batch);
  const cursor = await FeedCursor.open(source, nameOf(feed), options.since);
  options.onBegin?.(cursor.position);
  for (;;) {
    const { entries } = await cursor.next(limit, signal);
    for (const entry of entries) {
      for (const change of changesOf(entry, feed.columns)) yield change as FeedChange<C>;
    }
  }
}

/** The name of a feed. Throws for anything else. */
export function nameOf(feed: Feed): string {
  if (isFeed(feed)) return feed.name;
  throw new SchemaError(`${describeValue(feed)} is not a feed: make feeds with \`feed(name, columns)\`.`);
}

export function checkedBatch(batch = defaultBatch): number {
  if (Number.isSafeInteger(batch) && batch >= 1 && batch <= maxBatch) return batch;
  throw new InvalidArgumentError(
    `\`batch\` must be a whole number from 1 to ${maxBatch}, not ${describeValue(batch)}.`,
  );
}

/** A position in a feed. */
export class FeedCursor {
  readonly #source: FeedSource;
  #record: FeedRecord;
  /** All entries of commits up to this timestamp were returned, or were not asked for. */
  #position: number;
  #isChecked = false;

  private constructor(source: FeedSource, record: FeedRecord, position: number) {
    this.#source = source;
    this.#record = record;
    this.#position = position;
  }

  /** Begins after `since`. Default: now. Rejects if the feed no longer has all changes since then. */
  static async open(source: FeedSource, feed: string, since: number | undefined): Promise<FeedCursor> {
    const record = await recordOf(source.registry, feed);
    const complete = source.registry.feedCompleteFrom(record.since);
    // A reader that began before the feed was complete may continue from there at once.
    const now = Math.max(await currentTimestamp(source.registry.context), complete);
    const cursor = new FeedCursor(source, record, since ?? now);
    if (since === undefined) return cursor;
    if (!Number.isSafeInteger(since) || since < 0 || since > now) {
      throw new InvalidArgumentError(
        `\`since\` must be a timestamp that is not in the future (now: ${now}), not ${String(since)}.`,
      );
    }
    checkNotMilliseconds("since", since, now);
    if (since < complete) throw stale(feed, since, `has the changes since ${complete}`);
    await cursor.#checkFloor();
    return cursor;
  }

  /** Begins after `position`, or where the feed begins if that is later. */
  static async openFrom(source: FeedSource, feed: string, position: number): Promise<FeedCursor> {
    const { registry } = source;
    const record = await recordOf(registry, feed);
    const floor = await readMark(registry.context.store, feed, "floor");
    return new FeedCursor(source, record, Math.max(position, registry.feedCompleteFrom(record.since), floor));
  }

  get position(): number {
    return this.#position;
  }

  /**
   * Whether the feed is still recorded, as of now. `next` may learn up to a second late that it was
   * removed on a store outside of this process. Until then, it returns no entries.
   */
  async isCurrent(signal: AbortSignal): Promise<boolean> {
    const { registry } = this.#source;
    const view = await registry.retrying(() => registry.reload(), signal);
    return view.feedRecords.get(this.#record.name)?.record.since === this.#record.since;
  }

  /** Waits until there may be newer entries, and returns them. The batch may be empty. */
  async next(limit: number, signal: AbortSignal | undefined): Promise<EntryBatch> {
    const { registry, clock } = this.#source;
    let loss: unknown;
    const batch = await registry.retrying(async () => {
      const upTo = await clock.after(this.#position, signal);
      // If the process paused before this read, its snapshot is stale, and the next one is not.
      const entries = await this.#entries(upTo, limit, signal);
      try {
        return await this.#take(entries, upTo);
      } catch (error) {
        // A feed that has lost changes is not read again, although a stale snapshot is retryable.
        if (!isLoss(error)) throw error;
        loss = error;
        return undefined;
      }
    }, signal);
    if (batch === undefined) throw loss;
    return batch;
  }

  /**
   * Returns entries of commits up to a timestamp that was already given out. There are further ones
   * if the batch does not reach that far.
   */
  async read(upTo: number, limit: number, signal: AbortSignal | undefined): Promise<EntryBatch> {
    return await this.#take(await this.#entries(upTo, limit, signal), upTo);
  }

  #entries(upTo: number, limit: number, signal: AbortSignal | undefined) {
    const read = { feed: this.#record.name, since: this.#position, upTo, limit, signal };
    return entriesOrDamage(this.#source.registry.context, read);
  }

  /** Checks that no entry is missing, and moves on. */
  async #take(batch: EntryBatch | StoreDamagedError, upTo: number): Promise<EntryBatch> {
    const { name, since } = this.#record;
    const isDamaged = batch instanceof StoreDamagedError;
    // This process's copy of the registry may still have a feed that was removed.
    if (isDamaged) await this.#source.registry.reload();
    const record = await recordOf(this.#source.registry, name);
    if (record.since !== since) throw stale(name, this.#position, "was removed and declared again");
    // A shorter retention may have been declared, and taken back again.
    if (record.retainedSince !== this.#record.retainedSince) this.#isChecked = false;
    this.#record = record;
    const { context } = this.#source.registry;
    if (isDamaged || !this.#isChecked || mayBeTrimmed(context, record, this.#position, upTo)) {
      await this.#checkFloor();
    }
    if (isDamaged) throw batch;
    this.#position = batch.upTo;
    return batch;
  }

  async #checkFloor(): Promise<void> {
    const { name } = this.#record;
    const floor = await readMark(this.#source.registry.context.store, name, "floor");
    if (this.#position < floor) throw stale(name, this.#position, `has removed the changes up to ${floor}`);
    this.#isChecked = true;
  }
}

async function recordOf(registry: Registry, name: string): Promise<FeedRecord> {
  const found =
    (await registry.fresh()).feedRecords.get(name) ?? (await registry.reload()).feedRecords.get(name);
  if (found !== undefined) return found.record;
  throw new SchemaError(
    `The database has no feed named "${name}". Pass the feed to \`open\` with \`feeds\`, which records it.`,
  );
}

function stale(feed: string, since: number, why: string): StaleSnapshotError {
  return new StaleSnapshotError(
    `Feed ${feed} cannot continue after ${since}: it ${why}. Take a snapshot, and continue after its timestamp, as ` +
      "`db.follow` does, or declare the feed with a longer `retentionMs`.",
  );
}
