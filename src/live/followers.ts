import { ClosedError } from "../errors/index.js";
import type { Registry } from "../observer/index.js";
import type { Feed, FeedColumn } from "../schema/index.js";
import { CommitClock } from "./commit-clock.js";
import { endable } from "./ending.js";
import { type ChangesOptions, changes, type FeedSource } from "./feed/changes.js";
import type { FeedChange } from "./feed/feed-change.js";
import { type FollowEvent, follow } from "./feed/follow.js";
import { FeedLeases } from "./feed/leases.js";
import { LiveHub } from "./query/hub.js";
import { type LiveOptions, liveSettings } from "./query/live-options.js";
import { LiveQuery, type LiveRead, type LiveValue } from "./query/live-query.js";
import { type SettledOptions, Settling } from "./settled/settling.js";
import type { EarliestChanges } from "./watch/past-changes.js";
import { SharedPasses } from "./watch/shared-passes.js";
import { watch } from "./watch/watch.js";
import { type Watchable, type WatchedChange, type WatchOptions, WatchTarget } from "./watch/watch-target.js";

/**
 * Everything in one database that follows commits: readers of feeds, live queries, watches, and those
 * who wait for derived writes. All of it ends when the database is closed.
 */
export class Followers {
  readonly source: FeedSource;
  readonly hub: LiveHub;
  readonly #settling: Settling;
  readonly #passes = new SharedPasses<EarliestChanges>();
  readonly #end = new AbortController();

  constructor(registry: Registry) {
    this.source = {
      registry,
      clock: new CommitClock(registry.context),
      leases: new FeedLeases(registry),
    };
    this.hub = new LiveHub(this.source);
    this.#settling = new Settling(this.source);
  }

  changes<C extends FeedColumn>(
    feed: Feed<C>,
    options: ChangesOptions,
  ): AsyncGenerator<FeedChange<C>, void, undefined> {
    return endable([options.signal, this.#end.signal], (signal) =>
      changes(this.source, feed, { ...options, signal }),
    );
  }

  follow<C extends FeedColumn>(
    feed: Feed<C>,
    options: ChangesOptions,
  ): AsyncGenerator<FollowEvent<C>, void, undefined> {
    return endable([options.signal, this.#end.signal], (signal) =>
      follow(this.source, feed, { ...options, signal }),
    );
  }

  live<T>(read: LiveRead<T>, options: LiveOptions): AsyncGenerator<LiveValue<T>, void, undefined> {
    const settings = liveSettings(read, options);
    return new LiveQuery(this.hub, read, settings, [options.signal, this.#end.signal]);
  }

  watch<T extends Watchable>(
    target: T,
    { prefix, since, signal: ending }: WatchOptions,
  ): AsyncGenerator<WatchedChange<T>, void, undefined> {
    const watched = new WatchTarget(target, prefix);
    const changed = endable([ending, this.#end.signal], (signal) =>
      watch(this.source, watched, since, signal, this.#passes),
    );
    return changed as AsyncGenerator<WatchedChange<T>, void, undefined>;
  }

  settled(commitTimestamp: number | undefined, options: SettledOptions): Promise<void> {
    return this.#settling.settled(commitTimestamp, options, this.#end.signal);
  }

  /** Ends everything. Resolves when nothing reads the store any more. */
  async close(): Promise<void> {
    this.#end.abort(new ClosedError("The database was closed while its changes were followed."));
    await this.hub.close();
    this.#settling.close();
    this.source.leases.close();
    this.source.clock.close();
  }
}
