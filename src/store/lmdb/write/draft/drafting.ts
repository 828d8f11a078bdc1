import { keySum } from "../../record/checksum.js";
import type { Databases, Handle, ScanOptions } from "../../record/databases.js";
import { type CellAddress, Key, type RecordKey } from "../../record/key.js";
import { Change, type StoreName } from "./change.js";
import type { Draft } from "./draft.js";
import type { Fill } from "./fill.js";
import { valueStartAfter } from "./instruction-layout.js";
import { NotPlannableError } from "./not-plannable.js";
import { PendingChanges } from "./pending.js";
import { SlabMemory } from "./slab.js";

/**
 * The store as it will be when all drafts are written: LMDB's last commit, and above it the changes
 * that are not known to be committed. A plan reads and changes it as it does LMDB. It collects the
 * changes of one request, until they are accepted into a draft, made at once, or refused.
 */
export class Drafting {
  /** Reads through the pending changes. Collects puts and removals. */
  readonly databases: Databases;
  readonly stored: Databases;
  /** The changes of drafts that are not known to be committed. */
  readonly pending = new PendingChanges();
  /** The memory of the changes. */
  readonly memory = new SlabMemory();
  /** The changes of the request that is being planned. */
  readonly planned: Change[] = [];
  /** The range that the request fills. A request that fills a range changes nothing else. */
  plannedFill: Fill | undefined;

  constructor(stored: Databases) {
    this.stored = stored;
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

  /** Adds the changes of the request to `draft`. */
  accept(draft: Draft): void {
    draft.add(this.planned);
    this.pending.add(draft, this.planned);
    if (this.plannedFill !== undefined) {
      draft.addFill(this.plannedFill);
      this.pending.addFill(draft, this.plannedFill);
      this.plannedFill = undefined;
    }
    this.planned.length = 0;
    this.memory.mark();
  }

  /**
   * Makes the changes of the request, inside a write transaction. Returns whether there were any. If
   * it throws, the transaction must not be committed.
   */
  make(): boolean {
    const { planned } = this;
    const changes = planned.length > 0 || this.plannedFill !== undefined;
    for (let i = 0; i < planned.length; i++) planned[i]!.make(this.stored);
    this.plannedFill?.make(this.stored);
    this.refuse();
    return changes;
  }

  /** Forgets the changes of the request. */
  refuse(): void {
    this.planned.length = 0;
    this.plannedFill = undefined;
    this.memory.rewind();
  }

  /**
   * Forgets the changes of a draft that is committed and flushed, and of the drafts before it. Later
   * reads must see these commits.
   */
  forget(draft: Draft): void {
    this.pending.forget(draft, ({ slabs }) => {
      for (const slab of slabs) if (--slab.drafts === 0) this.memory.release(slab);
    });
  }

  /** Forgets all changes. */
  clear(): void {
    this.pending.clear();
    this.refuse();
  }

  #handle<Entry>(store: StoreName): Handle<Entry> {
    const stored = () => this.stored[store] as Handle<Entry>;
    return {
      getBinaryFast: (key) => {
        const change = this.#change(store, key);
        if (change === undefined) return stored().getBinaryFast(key);
        if (change.valueEnd < 0) return undefined;
        return change.bytes.subarray(change.valueStart, change.valueEnd);
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
    if (!(key instanceof Key)) {
      if (this.pending.hasEntries) throw new NotPlannableError();
      return undefined;
    }
    return this.pending.find(store, key.sum, key.bytes, 0, key.length);
  }

  /** A range is read from LMDB alone, so no change of it may be pending. */
  #checkRange(store: StoreName, { start }: ScanOptions): void {
    const { pending } = this;
    if (store === "cells" ? pending.hasEntries : pending.mayHaveHistory(cellSum(start)))
      throw new NotPlannableError();
  }

  #plan(store: StoreName, key: Key, value: Uint8Array | undefined): void {
    const { memory } = this;
    const { length } = key;
    const keyStart = memory.beginChange(length + (value?.length ?? 0));
    const { slab } = memory;
    for (let i = 0; i < length; i++) slab[keyStart + i] = key.bytes[i]!;
    const valueStart = valueStartAfter(keyStart + length);
    let end = valueStart;
    if (value !== undefined) {
      slab.set(value, end);
      end += value.length;
    }
    memory.used = end;
    const cell = store === "cells" ? key.sum : cellSum(key);
    const valueEnd = value === undefined ? -1 : end;
    this.planned.push(new Change(store, slab, keyStart, length, key.sum, cell, valueStart, valueEnd));
  }
}

function cellSum(key: Key): number {
  return keySum(key.bytes, 0, key.cellLength);
}
