import { DerivationFailedError, type FailedDerivation, LimitExceededError } from "../../errors/index.js";
import {
  hasHint,
  type ParkedChange,
  parkedChangeOf,
  type RecentHint,
  type RegisteredObserver,
  type Registry,
  type RegistryView,
} from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import {
  addressKey,
  type CellAddress,
  type HandledCell,
  SnapshotReader,
  showCell,
} from "../../transaction/index.js";
import type { CommittedEntry, EntryBatch } from "../feed/feed-entries.js";

/** The most changes that one call follows: about 50 MB. */
const maxFollowed = 100_000;
/** A change that is due for longer, in milliseconds, is looked at: maybe no hint says that it is. */
const longDueMs = 1_000;
/** How many such changes one look takes. It bounds the requests of a call. */
const looksAtOnce = 64;
/** How many changes a message names. */
const maxNamed = 5;

/** A change of one cell, and an observer that must handle it. */
export interface FollowedChange {
  readonly observer: string;
  readonly cell: CellAddress;
  /** Commit timestamp of the change. A run that starts at or above it handles it. */
  readonly commitTimestamp: number;
}

interface DueChange extends FollowedChange {
  readonly key: string;
  /** Monotonic time. */
  readonly followedAt: number;
  /** Its observer had no hint for it at this timestamp. */
  withoutHintAt?: number;
}

/** Whether the changes for an observer count, and what its runs cause is followed. */
export type CountsObserver = (name: string) => boolean;

/** What a waiter begins with. */
export interface WaiterStart {
  /** Entries of commits up to this timestamp are not needed. */
  readonly position: number;
  /** The commit whose entry has the first changes. */
  readonly root?: number | undefined;
  /** Changes that are due at the beginning. */
  readonly due?: readonly FollowedChange[] | undefined;
  /** Every run that has committed up to this timestamp counts as caused. */
  readonly allRunsUpTo?: number | undefined;
}

/**
 * One call of `db.settled`: the changes that the commit has caused so far and that are not handled.
 * It reads the entries of the feed of all observed columns, in commit order. The first entry that
 * handles a change says what the run has changed in turn (protocol §5.15).
 */
export class Waiter {
  /** Resolves when nothing is due. */
  readonly done: Promise<void>;
  readonly #registry: Registry;
  readonly #start: WaiterStart;
  readonly #counts: CountsObserver;
  readonly #due = new Map<string, DueChange[]>();
  /** In the order in which they are looked at. */
  readonly #queue = new Set<DueChange>();
  /** Changes whose observer has parked them, as an entry says. They may have been retried since. */
  readonly #parked = new Set<DueChange>();
  #view: RegistryView | undefined;
  #position: number;
  #followed = 0;
  #isLooking = false;
  #hasEnded = false;
  #resolve!: () => void;
  #reject!: (error: unknown) => void;

  constructor(registry: Registry, counts: CountsObserver, start: WaiterStart) {
    this.#registry = registry;
    this.#counts = counts;
    this.#start = start;
    this.#position = start.position;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A call that has ended does not wait for this any more.
    this.done.catch(() => undefined);
    for (const change of start.due ?? []) this.#follow(change);
  }

  /** It has read all entries of commits up to this timestamp. */
  get position(): number {
    return this.#position;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  fail(error: unknown): void {
    this.#hasEnded = true;
    this.#reject(error);
  }

  /** What is due, and not parked. */
  get due(): readonly FollowedChange[] {
    return [...this.#queue];
  }

  /** Names what is due, for a message. */
  showDue(): string {
    const names = [...this.#queue]
      .slice(0, maxNamed)
      .map(({ observer, cell }) => `"${observer}" on ${showCell(cell, this.#registry)}`);
    const more = this.#queue.size - names.length;
    return `${names.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
  }

  /** Whether a batch goes past the commit's entry, and does not have it. */
  passesRoot({ entries, upTo }: EntryBatch): boolean {
    const { root = 0 } = this.#start;
    if (this.#position >= root || upTo < root) return false;
    return !entries.some(({ commitTimestamp }) => commitTimestamp === root);
  }

  /** Reads entries. Entries that it has read already are skipped. */
  async read(batch: EntryBatch, view: RegistryView): Promise<void> {
    if (this.#hasEnded) return;
    try {
      this.#keepRegistered(view);
      for (const entry of batch.entries) {
        if (entry.commitTimestamp > this.#position) this.#readEntry(entry, view);
      }
      this.#position = Math.max(this.#position, batch.upTo);
      await this.#failIfParked(view);
      this.endIfDone();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Resolves {@link done} if nothing is due. */
  endIfDone(): void {
    const { root = 0, allRunsUpTo = 0 } = this.#start;
    if (this.#queue.size > 0 || this.#position < Math.max(root, allRunsUpTo)) return;
    this.#hasEnded = true;
    this.#resolve();
  }

  #readEntry(entry: CommittedEntry, view: RegistryView): void {
    const { commitTimestamp, handled } = entry;
    const { root, allRunsUpTo = 0 } = this.#start;
    let isNext = false;
    for (const cell of handled) isNext = this.#handle(cell) || isNext;
    const isCaused = commitTimestamp === root || (handled.length > 0 && commitTimestamp <= allRunsUpTo);
    if (isNext || isCaused) this.#followAll(entry, view);
  }

  /** Returns whether the entry is the first that handles one of the changes. */
  #handle({ observer, cell, upTo, isParked }: HandledCell): boolean {
    const due = this.#due.get(keyOf(observer, cell)) ?? [];
    const covered = due.filter(({ commitTimestamp }) => commitTimestamp <= upTo);
    for (const change of covered) {
      if (isParked) this.#parked.add(change);
      else this.#remove(change);
    }
    return covered.length > 0 && !isParked;
  }

  #followAll({ commitTimestamp, writes }: CommittedEntry, view: RegistryView): void {
    for (const { table, row, column } of writes) {
      for (const registered of view.watching(table, column)) {
        if (!this.counts(registered, commitTimestamp)) continue;
        this.#follow({ observer: registered.name, cell: { table, row, column }, commitTimestamp });
      }
    }
  }

  /**
   * Whether an observer must handle a change. A change from before its registration left no hint
   * for it.
   */
  counts({ name, record }: RegisteredObserver, commitTimestamp: number): boolean {
    return record.since < commitTimestamp && this.#counts(name);
  }

  #follow(change: FollowedChange): void {
    const key = keyOf(change.observer, change.cell);
    const known = this.#due.get(key);
    // A hint and an entry may both say that it is due.
    if (known?.some(({ commitTimestamp }) => commitTimestamp === change.commitTimestamp)) return;
    if (++this.#followed > maxFollowed) {
      throw new LimitExceededError(
        `The commit has caused more than ${maxFollowed} changes that observers must handle, and \`db.settled\` follows no ` +
          "more. Wait with `db.idle`, or leave observers out with `except`.",
      );
    }
    const due = { ...change, key, followedAt: this.#registry.context.environment.monotonic() };
    if (known === undefined) this.#due.set(key, [due]);
    else known.push(due);
    this.#queue.add(due);
  }

  #remove(change: DueChange): void {
    const rest = this.#due.get(change.key)?.filter((each) => each !== change) ?? [];
    if (rest.length > 0) this.#due.set(change.key, rest);
    else this.#due.delete(change.key);
    this.#queue.delete(change);
    this.#parked.delete(change);
  }

  /** Forgets the changes of observers that were unregistered. Nobody will handle them. */
  #keepRegistered(view: RegistryView): void {
    if (view === this.#view) return;
    this.#view = view;
    for (const change of this.#queue) {
      const since = view.observers.get(change.observer)?.record.since;
      if (since === undefined || since >= change.commitTimestamp) this.#remove(change);
    }
  }

  async #failIfParked(view: RegistryView): Promise<void> {
    if (this.#parked.size === 0) return;
    const failed: FailedDerivation[] = [];
    for (const change of [...this.#parked]) {
      const parked = await this.#parkedNow(change, view);
      if (parked === undefined) this.#parked.delete(change);
      else failed.push(failedDerivation(parked));
    }
    if (failed.length > 0) throw derivationFailed(failed);
  }

  async #parkedNow(
    { observer, cell, commitTimestamp }: DueChange,
    view: RegistryView,
  ): Promise<ParkedChange | undefined> {
    const { context } = this.#registry;
    const registered = view.observers.get(observer);
    if (registered === undefined) return undefined;
    // Not at the position: the change may have been retried or discarded since.
    const at = await currentTimestamp(context);
    const unregister = context.active.register(at);
    try {
      const reader = new SnapshotReader(context, at);
      const parked = await parkedChangeOf(view, reader, registered, cell);
      return parked !== undefined && parked.upTo >= commitTimestamp ? parked.change : undefined;
    } finally {
      unregister();
    }
  }

  /**
   * Looks at changes that are due for long. If a change has no hint, no run will handle it: the
   * observer was registered while the change committed, so that its writer did not know it yet. All
   * entries from before the hint was found missing must be read first, since a run may just have
   * handled the change.
   */
  async lookAtLongDue(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const now = this.#registry.context.environment.monotonic();
      for (const change of [...this.#queue].slice(0, looksAtOnce)) {
        if (now - change.followedAt < longDueMs) break;
        this.#queue.delete(change);
        this.#queue.add(change);
        await this.#look(change);
      }
      this.endIfDone();
    } catch (error) {
      this.fail(error);
    } finally {
      this.#isLooking = false;
    }
  }

  async #look(change: DueChange): Promise<void> {
    const { context } = this.#registry;
    const view = await this.#registry.fresh();
    const registered = view.observers.get(change.observer);
    if (registered === undefined) return;
    if (change.withoutHintAt === undefined) {
      if (await hasHint(this.#registry, registered, change.cell, change.commitTimestamp)) return;
      change.withoutHintAt = await currentTimestamp(context);
    }
    if (this.#position < change.withoutHintAt || !this.#queue.has(change)) return;
    const parked = await this.#parkedNow(change, view);
    if (parked !== undefined) throw derivationFailed([failedDerivation(parked)]);
    this.#remove(change);
  }
}

function keyOf(observer: string, cell: CellAddress): string {
  return `${observer}\0${addressKey(cell)}`;
}

/** The changes for whose observers a commit left hints. */
export function changesOfHints(
  hints: readonly RecentHint[],
  commitTimestamp: number,
): readonly FollowedChange[] {
  return hints.map(({ observer, cell }) => ({ observer, cell, commitTimestamp }));
}

export function failedDerivation(change: ParkedChange): FailedDerivation {
  const { observer, table, row, column, qualifier, error } = change;
  return { observer, table, row, column, qualifier, error: error.message };
}

export function derivationFailed(
  failed: readonly FailedDerivation[],
  certainty = "that the commit has caused",
): DerivationFailedError {
  const names = failed.slice(0, maxNamed).map(({ observer, table, row, column, qualifier, error }) => {
    const cell = qualifier === undefined ? column : `${column}:${qualifier}`;
    return `"${observer}" on ${table}.${cell}, row ${JSON.stringify(row)} (${error})`;
  });
  const more = failed.length > names.length ? `, and ${failed.length - names.length} more` : "";
  return new DerivationFailedError(
    `Observers have failed on changes ${certainty}, and the changes are parked: ${names.join(", ")}${more}. Correct ` +
      "the cause, make them due again with `db.retry`, and call `db.settled` again.",
    failed,
  );
}
