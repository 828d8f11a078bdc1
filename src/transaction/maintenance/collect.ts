import {
  BoundedTasks,
  backoffDelay,
  sleep,
  throwIfAborted,
  unlessAborted,
  WorkSlices,
} from "../../environment/index.js";
import { StoreError } from "../../errors/index.js";
import { isRemote, type Mutation, type Part, type PartVersion } from "../../store/index.js";
import { heldMs } from "../active.js";
import { showCell } from "../cell/address.js";
import { dropGuards } from "../cell/guards.js";
import { metLock, pushesPerTransaction } from "../cell/met-lock.js";
import { newestValue, readCells } from "../cell/raw.js";
import { ofPart, type WalkedCell, walkCells } from "../cell/raw-walk.js";
import { decodeLock, decodeWrite, writeForm } from "../cell/records.js";
import { graceMs } from "../commit/bulk.js";
import type { ColumnObserver, ObservedColumns, TransactionContext } from "../context.js";
import { rollbackPrimary } from "../lock/primary.js";

/**
 * Options of `db.collect`. Each has a default.
 * @example
 * const { versionsDropped } = await db.collect({ retentionMs: 60_000 });
 */
export interface CollectOptions {
  /** Ends the pass when aborted. Versions dropped before the abort stay dropped. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds for which superseded versions are kept. Default: the database's `retentionMs`. A
   * smaller value is always safe in memory, in a folder and on PostgreSQL. On Bigtable it is safe only
   * while no other process uses the database.
   */
  readonly retentionMs?: number | undefined;
  /** Called repeatedly with the pass's progress. Default: none. */
  readonly onProgress?: ((progress: CollectReport) => void) | undefined;
}

/** What a pass of garbage collection has done. */
export interface CollectReport {
  /** The published safepoint, as a timestamp. Snapshots below it can no longer be read. */
  readonly safepoint: number;
  /** Number of cells that the pass has read. */
  readonly cellsSeen: number;
  /** Number of locks that the pass has resolved. */
  readonly locksResolved: number;
  /** Number of versions that the pass has dropped: write records, data cells and statuses. */
  readonly versionsDropped: number;
  /**
   * Number of cells that were deleted because their `ttlMs` had passed. Collection itself counts
   * none: the database deletes them before it collects.
   */
  readonly cellsExpired: number;
}

const doing = "Garbage collection";
/** An hour, in microseconds: a clock that is so far ahead of the timestamps is wrong. */
const farAheadUs = 3_600_000_000;
/** Cells that a pass handles in parallel. It bounds the requests under way to a server. */
const collectedAtOnce = 128;
/**
 * The same for a store in this process. In a busy process, an answer can take hundreds of
 * milliseconds, so that fewer cells at once would fall behind.
 */
const collectedHereAtOnce = 1_024;
/**
 * Maximum number of versions that one read returns and one step drops. A step takes a few
 * milliseconds. Other writers get their turn between steps.
 */
const pieceVersions = 500;
/** How often collection tries to remove a lock before it fails. */
const maxResolutions = 10;
const resolving = { initialMs: 5, maximumMs: 1_000 };

/** An observer's acknowledgment or parked record of a cell: its start timestamp, and its commit. */
interface Recorded {
  readonly start: number;
  readonly commit: number;
}
const nothing: ReadonlyMap<ColumnObserver, Recorded> = new Map();

/**
 * Runs one pass of garbage collection (protocol §7.1). It publishes the safepoint and waits until
 * no transaction reads or commits below it. Then it resolves every lock below the safepoint. Only
 * then does it drop versions that no snapshot at or above the safepoint can see.
 *
 * `tables` are all tables with transactional cells. `oldestActive` is the oldest start timestamp
 * that other processes have published.
 */
export async function collect(
  context: TransactionContext,
  tables: readonly string[],
  oldestActive: number,
  options: CollectOptions = {},
): Promise<CollectReport> {
  return new Collection(context, tables, options).run(oldestActive);
}

/**
 * One pass of collection. `run` takes the four steps in order, and no step starts before the
 * previous one has succeeded.
 */
class Collection {
  readonly #context: TransactionContext;
  readonly #tables: readonly string[];
  readonly #options: CollectOptions;
  readonly #slices: WorkSlices;
  #safepoint = 0;
  #cellsSeen = 0;
  #locksResolved = 0;
  #versionsDropped = 0;

  constructor(context: TransactionContext, tables: readonly string[], options: CollectOptions) {
    this.#context = context;
    this.#tables = tables;
    this.#options = options;
    this.#slices = new WorkSlices(context.environment);
  }

  async run(oldestActive: number): Promise<CollectReport> {
    const { environment, events } = this.#context;
    const startedAt = environment.monotonic();
    this.#safepoint = await this.#publish(oldestActive);
    await this.#quiesce();
    for (const table of this.#tables) await this.#resolveLocks(table);
    const view = await unlessAborted(
      Promise.resolve(this.#context.notifications.fresh()),
      this.#options.signal,
      doing,
    );
    await this.#dropAll(view);
    const report = this.#report();
    const { safepoint, cellsSeen, versionsDropped } = report;
    events.emit("collect", {
      safepoint,
      cellsSeen,
      versionsDropped,
      durationMs: environment.monotonic() - startedAt,
    });
    return report;
  }

  #report(): CollectReport {
    return {
      safepoint: this.#safepoint,
      cellsSeen: this.#cellsSeen,
      locksResolved: this.#locksResolved,
      versionsDropped: this.#versionsDropped,
      cellsExpired: 0,
    };
  }

  /**
   * Step 1. The safepoint only moves forward. It stays at or below what the oracle has issued, and
   * at or below the start of every active transaction that began within the retention. If timestamps
   * come from another machine's clock, and this process's is far ahead of it, the retention counts from
   * that clock: otherwise this process would collect what others still read.
   */
  async #publish(oldestActive: number): Promise<number> {
    const { environment, settings, oracle, active, safepoint, store } = this.#context;
    const retentionMs = this.#options.retentionMs ?? settings.retentionMs;
    const keptMs = retentionMs + graceMs(store.capabilities, retentionMs);
    const latest = await unlessAborted(Promise.resolve(oracle.latest()), this.#options.signal, doing);
    throwIfAborted(this.#options.signal, doing);
    let now = environment.now() * 1_000;
    if (isRemote(store)) {
      const issued = await oracle.next({ signal: this.#options.signal });
      if (now - issued > farAheadUs) now = issued;
    }
    const held = active.oldest(heldMs(settings.retentionMs));
    const wanted = Math.min(now - keptMs * 1_000, latest, oldestActive, held);
    return safepoint.publish(Math.max(0, Math.floor(wanted)), this.#options.signal);
  }

  /**
   * Step 2. Waits until every process has forgotten an older cached safepoint, and until this
   * process has finished its own roll-forwards.
   */
  async #quiesce(): Promise<void> {
    const { safepoint, environment, background, store } = this.#context;
    if (store.capabilities.bulkMutations === true) await background.begun();
    if (safepoint.cacheMs === 0) return;
    await sleep(environment, safepoint.cacheMs * 2, this.#options.signal, doing);
  }

  /** Step 3. Resolves every lock below the safepoint. */
  async #resolveLocks(table: string): Promise<void> {
    const { store, environment } = this.#context;
    const options = { parts: ["lock"], signal: this.#options.signal, slices: this.#slices } as const;
    for await (const cells of walkCells(store, environment, table, options)) {
      for (const cell of cells) {
        for (const lock of cell.versions)
          if (lock.timestamp < this.#safepoint) await this.#resolveLock(cell, lock);
      }
    }
  }

  async #resolveLock(cell: WalkedCell, version: PartVersion): Promise<void> {
    const context = this.#context;
    // The owner may be alive, but a transaction that started below the safepoint may no longer
    // commit.
    const { primary } = decodeLock(version.value);
    await rollbackPrimary(context, primary, version.timestamp, this.#options.signal);
    const resolution = {
      start: this.#safepoint,
      role: "writer",
      signal: this.#options.signal,
      passed: new Set<number>(),
      pushesLeft: pushesPerTransaction,
      attempt: 0,
    } as const;
    // Step 4 drops the statuses that decide this lock. The answer to the removal may be lost, so
    // only a read that shows no lock counts as success.
    for (let attempt = 1; ; attempt++) {
      await context.resolver.resolve(context, metLock(cell, version), resolution);
      const { timestamp } = version;
      const left = await readCells(context.store, cell, ["lock"], timestamp, timestamp + 1);
      if (left.length === 0) break;
      if (attempt === maxResolutions) {
        throw new StoreError(
          `Garbage collection could not remove the lock of the transaction at ${timestamp} from ` +
            `${showCell(cell, context.schemas)}: the store did ` +
            `not confirm it in ${maxResolutions} attempts. Nothing was dropped in its table. Collect again.`,
          { retryable: true },
        );
      }
      const waitMs = backoffDelay(context.environment, resolving, attempt);
      await sleep(context.environment, waitMs, this.#options.signal, doing);
    }
    this.#locksResolved++;
  }

  /** Step 4. Drops versions that no snapshot at or above the safepoint can see. */
  async #dropAll(view: ObservedColumns): Promise<void> {
    const drops = new BoundedTasks(isRemote(this.#context.store) ? collectedAtOnce : collectedHereAtOnce);
    try {
      for (const table of this.#tables) await this.#dropVersions(table, view, drops);
    } finally {
      await drops.end();
    }
  }

  async #dropVersions(table: string, view: ObservedColumns, drops: BoundedTasks): Promise<void> {
    const { store, environment } = this.#context;
    const options = {
      parts: ["write", "data", "txn"],
      skip: (write: { readonly value: Uint8Array }) => writeForm(write.value) !== "delete",
      to: this.#safepoint + 1,
      versions: pieceVersions,
      signal: this.#options.signal,
      slices: this.#slices,
    } as const;
    for await (const cells of walkCells(store, environment, table, options)) {
      this.#cellsSeen += cells.length;
      for (const cell of cells) {
        throwIfAborted(this.#options.signal, doing);
        const full = drops.begin(() => this.#dropFrom(cell, view));
        if (full !== undefined) await full;
      }
      await this.#options.onProgress?.(this.#report());
    }
  }

  /**
   * Drops what a cell no longer needs. `cell` holds the newest versions of each part at or below
   * the safepoint. {@link #pieces} reads the rest.
   */
  async #dropFrom(cell: WalkedCell, view: ObservedColumns): Promise<void> {
    const [newest, next] = ofPart(cell.versions, "write");
    const observers = view.observersOf(cell.table, cell.column);
    const isMarker = newest !== undefined && writeForm(newest.value) === "delete";
    const isAsked = observers.length > 0 && (next !== undefined || isMarker);
    // Keeps parked versions too. If an operator marks a parked change as handled, the observer's
    // next run gets the parked version as its `previous`. That makes the parked start the
    // acknowledgment, so one of the two reads finds it only in this order.
    const parked = isAsked && next !== undefined ? await this.#recorded(cell, observers, "parked") : nothing;
    const acknowledged = isAsked ? await this.#recorded(cell, observers, "acknowledgment") : nothing;
    const runs = [...acknowledged.values(), ...parked.values()].map(({ start }) => start);
    const kept = await this.#dropWrites(cell, runs);
    const isDropped =
      kept !== undefined && (await this.#dropData(cell, kept)) && (await this.#dropStatuses(cell));
    if (!isMarker || !isDropped || kept.length !== 1) return;
    if (
      observers.every((observer) =>
        covers(observer, acknowledged.get(observer), newest.timestamp, this.#safepoint, cell.row),
      )
    ) {
      await this.#dropMarker(cell, newest.timestamp, observers);
    }
  }

  /**
   * Drops all write records that are older than the newest one at or below the safepoint. An
   * observer may ask for a version as its `previous`. Collection therefore also keeps, for each
   * start in `runs`, the newest write record at or below it. Returns the kept records, newest
   * first. Returns undefined if the store did not confirm every drop: dropping a delete marker then
   * would uncover an older value.
   */
  async #dropWrites(cell: WalkedCell, runs: readonly number[]): Promise<readonly PartVersion[] | undefined> {
    const kept: PartVersion[] = [];
    let open = runs;
    for await (const writes of this.#pieces(cell, "write", this.#safepoint + 1)) {
      const needed = new Set<PartVersion>();
      if (kept.length === 0) needed.add(writes[0]!);
      open = open.filter((start) => {
        const previous = writes.find((write) => write.timestamp <= start);
        if (previous !== undefined) needed.add(previous);
        return previous === undefined;
      });
      kept.push(...writes.filter((write) => needed.has(write)));
      if (!(await this.#drop(cell, writes, (write) => !needed.has(write)))) return undefined;
    }
    return kept;
  }

  /**
   * Drops data cells to which no write record refers. A write record above the safepoint may refer
   * to a data cell below it.
   */
  async #dropData(cell: WalkedCell, kept: readonly PartVersion[]): Promise<boolean> {
    const named = new Set(kept.map((write) => decodeWrite(write.value).start));
    // The transaction of each later write record began at or after the newest kept commit, so that
    // record cannot refer to data below that commit.
    const certain = kept[0]?.timestamp ?? 0;
    let isAboveRead = false;
    for await (const data of this.#pieces(cell, "data", this.#safepoint)) {
      if (!isAboveRead && data.some(({ timestamp }) => timestamp >= certain && !named.has(timestamp))) {
        for await (const writes of this.#pieces(cell, "write", Number.POSITIVE_INFINITY, this.#safepoint + 1))
          for (const write of writes) named.add(decodeWrite(write.value).start);
        isAboveRead = true;
      }
      if (!(await this.#drop(cell, data, ({ timestamp }) => !named.has(timestamp)))) return false;
    }
    return true;
  }

  async #dropStatuses(cell: WalkedCell): Promise<boolean> {
    for await (const statuses of this.#pieces(cell, "txn", this.#safepoint)) {
      if (!(await this.#drop(cell, statuses, () => true))) return false;
    }
    return true;
  }

  /**
   * The versions of a part of the cell in [from, to), newest first, one piece at a time. A
   * frequently written cell can have a hundred thousand versions. The first piece comes from
   * `cell`, unless all versions there are at or above `to`.
   */
  async *#pieces(cell: WalkedCell, part: Part, to: number, from = 0): AsyncGenerator<readonly PartVersion[]> {
    const { store } = this.#context;
    let below = to;
    if (from === 0) {
      const known = ofPart(cell.versions, part);
      const piece = known.filter(({ timestamp }) => timestamp < to);
      if (piece.length > 0) yield piece;
      if (known.length < pieceVersions) return;
      below = known.at(-1)!.timestamp;
    }
    for (;;) {
      throwIfAborted(this.#options.signal, doing);
      const piece = await readCells(store, cell, [part], from, below, pieceVersions);
      if (piece.length > 0) yield piece;
      if (piece.length < pieceVersions) return;
      below = piece.at(-1)!.timestamp;
      await this.#options.onProgress?.(this.#report());
      await this.#slices.next();
    }
  }

  /**
   * Drops the `versions` for which `isGone` is true, and returns whether the store confirmed it.
   * `versions` must be consecutive: one delete covers a range of timestamps.
   */
  async #drop(
    cell: WalkedCell,
    versions: readonly PartVersion[],
    isGone: (version: PartVersion) => boolean,
  ): Promise<boolean> {
    const mutations = deletesOf(cell.column, versions, isGone);
    const most = this.#context.store.capabilities.mutationCells;
    for (let from = 0; from < mutations.length; from += most) {
      const { table, row } = cell;
      const some = mutations.slice(from, from + most);
      const answer = await this.#context.store.mutate({ table, row, guards: [], mutations: some });
      if (answer !== "applied") return false;
    }
    this.#versionsDropped += versions.filter(isGone).length;
    return true;
  }

  /**
   * Drops a delete marker if the cell has no later write and no lock. Drops the cell's
   * acknowledgments with it.
   */
  async #dropMarker(cell: WalkedCell, marker: number, observers: readonly ColumnObserver[]): Promise<void> {
    const { table, row, column } = cell;
    const answer = await this.#context.store.mutate({
      table,
      row,
      guards: dropGuards(column, marker),
      mutations: [
        { type: "delete", column, part: "write", from: marker, to: marker + 1 },
        ...observers.map(
          ({ acknowledgment }): Mutation => ({
            type: "delete",
            column: acknowledgment,
            part: "write",
            from: 0,
            to: this.#safepoint + 1,
          }),
        ),
      ],
    });
    if (answer === "applied") this.#versionsDropped++;
  }

  /**
   * What the observers' records of a cell hold, by observer. Records from before an observer's
   * registration are of an earlier one of its name, and do not count.
   */
  async #recorded(
    cell: WalkedCell,
    observers: readonly ColumnObserver[],
    record: "acknowledgment" | "parked",
  ): Promise<ReadonlyMap<ColumnObserver, Recorded>> {
    const found = new Map<ColumnObserver, Recorded>();
    for (const observer of observers) {
      const address = { table: cell.table, row: cell.row, column: observer[record] };
      const newest = await newestValue(this.#context.store, address);
      if (newest === undefined) continue;
      const start = observer.acknowledged(newest.value);
      if (start >= observer.since) found.set(observer, { start, commit: newest.commit });
    }
    return found;
  }
}

/** One delete for each series of adjacent versions to drop. `versions` are newest first. */
function deletesOf(
  column: Uint8Array,
  versions: readonly PartVersion[],
  isGone: (version: PartVersion) => boolean,
): Mutation[] {
  const deletes: Mutation[] = [];
  let run: { readonly to: number; from: number } | undefined;
  const end = () => {
    if (run !== undefined) deletes.push({ type: "delete", column, part: versions[0]!.part, ...run });
    run = undefined;
  };
  for (const version of versions) {
    const { timestamp } = version;
    if (!isGone(version)) end();
    else if (run === undefined) run = { from: timestamp, to: timestamp + 1 };
    else run.from = timestamp;
  }
  end();
  return deletes;
}

/**
 * Whether an observer has handled the deletion at `marker`, and its acknowledgment can be dropped
 * with the marker. An acknowledgment above the safepoint cannot: without the marker, no later
 * collection would drop it.
 */
function covers(
  observer: ColumnObserver,
  acknowledged: Recorded | undefined,
  marker: number,
  safepoint: number,
  row: Uint8Array,
): boolean {
  if (acknowledged !== undefined) return acknowledged.start >= marker && acknowledged.commit <= safepoint;
  // A deletion after the observer's registration has a hint, and stays due until the observer
  // acknowledges it.
  return marker <= observer.since && observer.passed(row);
}
