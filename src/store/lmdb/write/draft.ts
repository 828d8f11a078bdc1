import type { Databases, Handle, ScanOptions } from "../record/databases.js";
import { type CellAddress, Key, type RecordKey } from "../record/key.js";
import { queueChanges, type StoreState, writeState } from "../record/state.js";
import type { Request } from "./request.js";

/** A draft takes no more requests once its changes have this many bytes, or are this many. */
const maxDraftBytes = 16 * 1024 ** 2;
const maxDraftChanges = 100_000;

const slabBytes = 64 * 1024;

type StoreName = "cells" | "versions" | "protocol";

/**
 * Memory for keys and values, whose addresses LMDB's binding knows. `start` and `end` tell the
 * binding which part to put. So a put needs no object of its own for its value.
 */
interface Slab extends Buffer {
  start: number;
  end: number;
}

function newSlab(bytes: number): Slab {
  return Object.assign(Buffer.allocUnsafeSlow(bytes), { start: 0, end: 0 });
}

/** A record to put, or to remove if `valueEnd` is -1. The key and the value are in one slab. */
interface Change extends RecordKey {
  readonly store: StoreName;
  readonly bytes: Slab;
  /** The checksum of the key. */
  readonly sum: number;
  /** The key of the record's cell, if the record is outside the cell's entry. */
  readonly cell: string | undefined;
  readonly valueEnd: number;
  /** The draft that makes the change, once it has accepted it. */
  draft: Draft | undefined;
  /**
   * The next older change in the same slot of the pending changes. Of the changes that one draft
   * makes to one record in a row, the slot has only the last.
   */
  below: Change | undefined;
}

/**
 * A request that cannot be planned before its group holds LMDB's write lock, because it reads
 * records that an earlier draft changes.
 */
export class NotPlannableError extends Error {}

/**
 * The writes of one group, planned before the group holds LMDB's write lock. They are right only if
 * the store is in the state `base` when the group gets the lock.
 */
export class Draft {
  readonly base: StoreState;
  /** The requests to answer, in order. */
  readonly requests: Request[] = [];
  readonly changes: Change[] = [];
  /** The counter after these requests. */
  counter: number;
  early = false;
  /** How many waiting requests it covers. Some may have been given up before they were planned. */
  covered = 0;
  /** The first of the covered requests. */
  first: Request | undefined;
  #bytes = 0;

  constructor(base: StoreState) {
    this.base = base;
    this.counter = base.counter;
  }

  /** Whether it changes anything. */
  get writes(): boolean {
    return this.changes.length > 0 || this.counter !== this.base.counter;
  }

  get isFull(): boolean {
    return this.#bytes >= maxDraftBytes || this.changes.length >= maxDraftChanges;
  }

  add(changes: readonly Change[]): void {
    for (const change of changes) {
      this.changes.push(change);
      this.#bytes += Math.max(change.valueEnd - change.start, change.length);
    }
  }

  /**
   * Queues the changes for LMDB's write thread. Call it right after the group's transaction was
   * requested. `after` is the state after the group.
   */
  queue(databases: Databases, after: StoreState): void {
    queueChanges(databases, () => {
      for (const change of this.changes) {
        const database = databases[change.store];
        if (change.valueEnd < 0) {
          database.remove(change);
        } else {
          const value = change.bytes;
          value.start = change.start + change.length;
          value.end = change.valueEnd;
          database.put(change, value);
        }
      }
      writeState(databases, after);
    });
  }
}

/**
 * The store as it will be when all drafts are written: LMDB's last commit, and above it the changes
 * that are not known to be committed. A plan reads and changes it as it does LMDB.
 */
export class Drafting {
  /** Reads through the pending changes. Collects puts and removals. */
  readonly databases: Databases;
  readonly #stored: Databases;
  /** By the checksum of the key. A slot has the changes of all keys with that checksum. */
  readonly #pending = {
    cells: new Map<number, Change>(),
    versions: new Map<number, Change>(),
    protocol: new Map<number, Change>(),
  };
  /** The cells with pending changes outside their entry, and the number of these changes. */
  readonly #histories = new Map<string, number>();
  /** The drafts whose changes are pending. */
  readonly #drafts = new Set<Draft>();
  /** The changes of the request that is being planned. */
  #planned: Change[] = [];
  #slab = newSlab(0);
  #used = 0;

  constructor(stored: Databases) {
    this.#stored = stored;
    this.databases = {
      // LMDB may be reopened, and then has other handles.
      get root() {
        return stored.root;
      },
      get meta() {
        return stored.meta;
      },
      cells: this.#handle("cells"),
      versions: this.#handle("versions"),
      protocol: this.#handle("protocol"),
    };
  }

  /** Adds the changes that were planned since the last call to `draft`. */
  accept(draft: Draft): void {
    this.#drafts.add(draft);
    draft.add(this.#planned);
    for (const change of this.#planned) {
      const pending = this.#pending[change.store];
      const top = pending.get(change.sum);
      change.draft = draft;
      change.below = top?.draft === draft && isAt(top, change) ? top.below : top;
      pending.set(change.sum, change);
      this.#count(change, 1);
    }
    this.#planned = [];
  }

  /** Forgets the changes that were planned since {@link accept}. */
  refuse(): void {
    this.#planned = [];
  }

  /**
   * Forgets the changes of a draft that is committed, and of the drafts before it, which are
   * committed too. Later reads must see these commits.
   */
  forget(draft: Draft): void {
    if (!this.#drafts.has(draft)) return;
    for (const each of this.#drafts) {
      this.#drafts.delete(each);
      for (const change of each.changes) {
        unlink(this.#pending[change.store], change);
        this.#count(change, -1);
      }
      if (each === draft) return;
    }
  }

  /** Forgets all changes. */
  clear(): void {
    this.#drafts.clear();
    for (const pending of Object.values(this.#pending)) pending.clear();
    this.#histories.clear();
    this.#planned = [];
  }

  #count({ cell }: Change, by: 1 | -1): void {
    if (cell === undefined) return;
    const count = (this.#histories.get(cell) ?? 0) + by;
    if (count > 0) this.#histories.set(cell, count);
    else this.#histories.delete(cell);
  }

  #handle<Entry>(store: StoreName): Handle<Entry> {
    const stored = () => this.#stored[store] as Handle<Entry>;
    return {
      getBinaryFast: (key) => {
        const change = this.#change(store, key);
        if (change === undefined) return stored().getBinaryFast(key);
        if (change.valueEnd < 0) return undefined;
        return change.bytes.subarray(change.start + change.length, change.valueEnd);
      },
      getRange: (options) => {
        this.#checkRange(store, options);
        return stored().getRange(options);
      },
      put: (key, value) => this.#plan(store, key as Key, value),
      remove: (key) => this.#plan(store, key as Key, undefined),
      getStats: () => stored().getStats(),
    };
  }

  /** The newest pending change of a record, if there is one. */
  #change(store: StoreName, key: RecordKey | CellAddress): Change | undefined {
    const pending = this.#pending[store];
    if (pending.size === 0) return undefined;
    if (!(key instanceof Key)) throw new NotPlannableError();
    let change = pending.get(key.sum);
    while (change !== undefined && !isAt(change, key)) change = change.below;
    return change;
  }

  /** A range is read from LMDB alone, so no change of it may be pending. */
  #checkRange(store: StoreName, { start }: ScanOptions): void {
    const isPending = store === "cells" ? this.#pending.cells.size > 0 : this.#histories.has(cellOf(start));
    if (isPending) throw new NotPlannableError();
  }

  #plan(store: StoreName, key: Key, value: Uint8Array | undefined): void {
    const { length } = key;
    const bytes = this.#room(length + (value?.length ?? 0));
    const start = this.#used;
    for (let i = 0; i < length; i++) bytes[start + i] = key.bytes[i]!;
    let end = start + length;
    if (value !== undefined) {
      bytes.set(value, end);
      end += value.length;
    }
    this.#used = end;
    const cell = store === "cells" ? undefined : cellOf(key);
    const valueEnd = value === undefined ? -1 : end;
    this.#planned.push({
      store,
      bytes,
      start,
      length,
      sum: key.sum,
      cell,
      valueEnd,
      draft: undefined,
      below: undefined,
    });
  }

  /** A slab with room for `bytes` after `#used`. */
  #room(bytes: number): Slab {
    if (this.#used + bytes > this.#slab.length) {
      this.#slab = newSlab(Math.max(bytes, slabBytes));
      this.#used = 0;
    }
    return this.#slab;
  }
}

function unlink(pending: Map<number, Change>, change: Change): void {
  let above = pending.get(change.sum);
  if (above === change) {
    if (change.below === undefined) pending.delete(change.sum);
    else pending.set(change.sum, change.below);
    return;
  }
  while (above !== undefined && above.below !== change) above = above.below;
  if (above !== undefined) above.below = change.below;
}

function isAt({ bytes, start, length }: Change, key: RecordKey): boolean {
  if (length !== key.length) return false;
  return bytes.compare(key.bytes, key.start, key.start + length, start, start + length) === 0;
}

function cellOf(key: Key): string {
  return key.bytes.toString("latin1", 0, key.cellLength);
}
