import { InvalidArgumentError, SchemaError, StaleSnapshotError } from "../../errors/index.js";
import type { FeedRecord, Registry } from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { describeValue, type Feed, type FeedColumn, isFeed } from "../../schema/index.js";
import type { CommitClock } from "../commit-clock.js";
import { changesOf, type FeedChange } from "./feed-change.js";
import { type EntryBatch, readEntries } from "./feed-entries.js";
import { readFloor } from "./feed-floor.js";

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
}

/** What reading a feed needs of the database. */
export interface FeedSource {
  readonly registry: Registry;
  readonly clock: CommitClock;
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
  const cursor = await FeedCursor.open(source, feed, options.since);
  for (;;) {
    const { entries } = await cursor.next(limit, signal);
    for (const entry of entries) {
      for (const change of changesOf(entry, feed.columns)) yield change as FeedChange<C>;
    }
  }
}

function checkedBatch(batch = defaultBatch): number {
  if (Number.isSafeInteger(batch) && batch >= 1 && batch <= maxBatch) return batch;
  throw new InvalidArgumentError(
    `\`batch\` must be a whole number from 1 to ${maxBatch}, not ${String(batch)}.`,
  );
}

/** A position in a feed. */
export class FeedCursor {
  readonly #source: FeedSource;
  readonly #record: FeedRecord;
  /** All entries of commits up to this timestamp were returned, or were not asked for. */
  #position: number;
  #isChecked = false;

  private constructor(source: FeedSource, record: FeedRecord, position: number) {
    this.#source = source;
    this.#record = record;
    this.#position = position;
  }

  /** Begins after `since`. Default: now. Rejects if the feed no longer has all changes since then. */
  static async open(source: FeedSource, feed: Feed, since: number | undefined): Promise<FeedCursor> {
    if (!isFeed(feed)) {
      throw new SchemaError(`${describeValue(feed)} is not a feed: make feeds with \`feed(name, columns)\`.`);
    }
    const record = await recordOf(source.registry, feed.name);
    const now = await currentTimestamp(source.registry.context);
    const complete = completeFrom(source.registry, record);
    const cursor = new FeedCursor(source, record, since ?? Math.max(now, complete));
    if (since === undefined) return cursor;
    if (!Number.isSafeInteger(since) || since < 0 || since > now) {
      throw new InvalidArgumentError(
        `\`since\` must be a timestamp that is not in the future (now: ${now}), not ${String(since)}.`,
      );
    }
    if (since < complete) throw stale(feed.name, since, `has the changes since ${complete}`);
    await cursor.#checkFloor();
    return cursor;
  }

  get position(): number {
    return this.#position;
  }

  /** Waits until there may be newer entries, and returns them. The batch may be empty. */
  async next(limit: number, signal: AbortSignal | undefined): Promise<EntryBatch> {
    const { registry, clock } = this.#source;
    const { name, retentionMs } = this.#record;
    const since = this.#position;
    let newest = since;
    const batch = await registry.retrying(async () => {
      newest = await clock.after(since, signal);
      return readEntries(registry.context, { feed: name, since, upTo: newest, limit, signal });
    }, signal);
    const record = await recordOf(registry, name);
    if (record.since !== this.#record.since) throw stale(name, since, "was removed and declared again");
    // What is missing was removed before it could be read. That takes the whole retention.
    if (!this.#isChecked || newest - since > (retentionMs * 1_000) / 2) await this.#checkFloor();
    this.#position = batch.upTo;
    return batch;
  }

  async #checkFloor(): Promise<void> {
    const { name } = this.#record;
    const floor = await readFloor(this.#source.registry.context.store, name);
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

/** The timestamp above which every commit leaves its entry in a feed (protocol §3.5). */
function completeFrom(registry: Registry, { since }: FeedRecord): number {
  const { store } = registry.context;
  return store.atomic !== undefined ? since : since + 2 * registry.cacheMs * 1_000;
}

function stale(feed: string, since: number, why: string): StaleSnapshotError {
  return new StaleSnapshotError(
    `Feed ${feed} cannot continue after ${since}: it ${why}. Take a snapshot, and continue after its timestamp, as ` +
      "`db.follow` does, or declare the feed with a longer `retentionMs`.",
  );
}
