import { type Timer, unlessAborted } from "../../environment/index.js";
import { StaleSnapshotError, StoreDamagedError } from "../../errors/index.js";
import type { FeedRecord, Registry, RegistryView } from "../../observer/index.js";
import { isRemote, type MaybePromise } from "../../store/index.js";
import type { CommitClock } from "../commit-clock.js";
import { type EntryBatch, entriesOrDamage } from "../feed/feed-entries.js";
import { mayBeTrimmed, readMark } from "../feed/feed-marks.js";
import type { Waiter } from "./waiter.js";

const entriesAtOnce = 1_000;
const longDueMs = 1_000;

/**
 * Reads the feed of all observed columns once for all calls of `db.settled` in this process, as long
 * as there are any.
 */
export class EntryTail {
  readonly #registry: Registry;
  readonly #clock: CommitClock;
  readonly #record: FeedRecord;
  readonly #waiters = new Set<Waiter>();
  readonly #stop = new AbortController();
  #users = 0;
  #position: number;
  #timer: Timer | undefined;
  #hasEnded = false;
  /** Why it could not read on. */
  #failure: { readonly error: unknown } | undefined;

  /** Begins after the entry of the commit at `position`. */
  constructor(registry: Registry, clock: CommitClock, record: FeedRecord, position: number) {
    this.#registry = registry;
    this.#clock = clock;
    this.#record = record;
    this.#position = position;
  }

  /** Whether it reads this feed, and still takes waiters. */
  reads(record: FeedRecord): boolean {
    return !this.#hasEnded && record.since === this.#record.since;
  }

  /** Resolves when nothing of a waiter is due. */
  async wait(waiter: Waiter, signal: AbortSignal): Promise<void> {
    if (this.#users++ === 0) {
      void this.#run();
      this.#lookLater();
    }
    try {
      while (waiter.position < this.#position && !waiter.hasEnded) {
        await unlessAborted(this.#catchUp(waiter, signal), signal, waiting);
      }
      // No other work comes between: from here on, the waiter misses no batch.
      this.#waiters.add(waiter);
      waiter.endIfDone();
      if (this.#failure !== undefined) waiter.fail(this.#failure.error);
      await unlessAborted(waiter.done, signal, waiting);
    } finally {
      this.#waiters.delete(waiter);
      if (--this.#users === 0) this.#end();
    }
  }

  /** Reads a batch of what the others have read already. */
  async #catchUp(waiter: Waiter, signal: AbortSignal): Promise<void> {
    const upTo = this.#position;
    await this.#tell(waiter, ...(await this.#read(waiter.position, () => upTo, signal)));
  }

  async #tell(waiter: Waiter, batch: EntryBatch, view: RegistryView): Promise<void> {
    // On a store outside of this process, the view may be too old to show that the feed was removed.
    if (isRemote(this.#registry.context.store) && waiter.passesRoot(batch)) {
      const current = await this.#registry.retrying(() => this.#registry.reload(), this.#stop.signal);
      if (!this.#isIn(current)) throw stale(waiter.position);
    }
    await waiter.read(batch, view);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#timer?.cancel();
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    try {
      while (!this.#hasEnded) {
        const newest = () => this.#clock.after(this.#position, signal);
        const [batch, view] = await this.#read(this.#position, newest, signal);
        this.#position = batch.upTo;
        for (const waiter of this.#waiters) await this.#tell(waiter, batch, view);
      }
    } catch (error) {
      this.#failure = { error };
      for (const waiter of this.#waiters) waiter.fail(error);
      this.#end();
    }
  }

  async #read(
    since: number,
    upTo: () => MaybePromise<number>,
    signal: AbortSignal,
  ): Promise<readonly [batch: EntryBatch, view: RegistryView]> {
    const registry = this.#registry;
    const { name } = this.#record;
    const [batch, view] = await registry.retrying(async () => {
      const read = { feed: name, since, upTo: await upTo(), limit: entriesAtOnce, signal };
      const entries = await entriesOrDamage(registry.context, read);
      return [entries, await this.#viewAfter(entries)] as const;
    }, signal);
    const isDamaged = batch instanceof StoreDamagedError;
    const isLate = isDamaged || mayBeTrimmed(registry.context, this.#record, since, batch.upTo);
    if (!this.#isIn(view) || (isLate && since < (await readMark(registry.context.store, name, "floor"))))
      throw stale(since);
    if (isDamaged) throw batch;
    return [batch, view];
  }

  /** Whether the feed is still recorded. */
  #isIn({ feedRecords }: RegistryView): boolean {
    const { name, since } = this.#record;
    return feedRecords.get(name)?.record.since === since;
  }

  /**
   * The observers that the commits of a batch knew. On a store with atomic batches those are all
   * that were registered before, so a copy of the registry may not be older than the commits. After
   * damage it must show whether the feed was removed.
   */
  async #viewAfter(batch: EntryBatch | StoreDamagedError): Promise<RegistryView> {
    const { store } = this.#registry.context;
    const isExact =
      batch instanceof StoreDamagedError ||
      (store.atomic !== undefined && isRemote(store) && batch.entries.length > 0);
    return isExact ? await this.#registry.reload() : await this.#registry.fresh();
  }

  #lookLater(): void {
    const look = async () => {
      for (const waiter of this.#waiters) await waiter.lookAtLongDue();
      if (!this.#hasEnded) this.#lookLater();
    };
    this.#timer = this.#registry.context.environment.setTimer(() => void look(), longDueMs, {
      background: true,
    });
  }
}

const waiting = "Waiting for derived writes";

function stale(since: number): StaleSnapshotError {
  return new StaleSnapshotError(
    `The changes after ${since} are not known any more: this process has not asked for them for too long.`,
  );
}
