import { type Timer, unlessAborted } from "../../environment/index.js";
import { StaleSnapshotError } from "../../errors/index.js";
import type { FeedRecord, Registry, RegistryView } from "../../observer/index.js";
import { isRemote, type MaybePromise } from "../../store/index.js";
import type { CommitClock } from "../commit-clock.js";
import { type EntryBatch, readEntries } from "../feed/feed-entries.js";
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
      await unlessAborted(this.#catchUp(waiter, signal), signal, waiting);
      // No other work comes between: from here on, the waiter misses no batch.
      this.#waiters.add(waiter);
      waiter.endIfDone();
      await unlessAborted(waiter.done, signal, waiting);
    } finally {
      this.#waiters.delete(waiter);
      if (--this.#users === 0) this.#end();
    }
  }

  /** Reads what the others have read already. */
  async #catchUp(waiter: Waiter, signal: AbortSignal): Promise<void> {
    while (waiter.position < this.#position) {
      const upTo = this.#position;
      await waiter.read(...(await this.#read(waiter.position, () => upTo, signal)));
      if (waiter.hasEnded) return;
    }
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
        for (const waiter of this.#waiters) await waiter.read(batch, view);
      }
    } catch (error) {
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
    const batch = await registry.retrying(async () => {
      const read = { feed: name, since, upTo: await upTo(), limit: entriesAtOnce, signal };
      return await readEntries(registry.context, read);
    }, signal);
    const view = await this.#viewAfter(batch);
    const isSame = view.feedRecords.get(name)?.record.since === this.#record.since;
    const isLate = mayBeTrimmed(registry.context, this.#record, since, batch.upTo);
    if (!isSame || (isLate && since < (await readMark(registry.context.store, name, "floor")))) {
      throw new StaleSnapshotError(
        `The changes after ${since} are not known any more: this process has not asked for them for too long.`,
      );
    }
    return [batch, view];
  }

  /**
   * The observers that the commits of a batch knew. On a store with atomic batches those are all
   * that were registered before, so a copy of the registry may not be older than the commits.
   */
  async #viewAfter({ entries }: EntryBatch): Promise<RegistryView> {
    const { store } = this.#registry.context;
    const isExact = store.atomic !== undefined && isRemote(store) && entries.length > 0;
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
