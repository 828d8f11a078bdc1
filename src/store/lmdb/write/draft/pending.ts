import type { Change, StoreName } from "./change.js";
import type { Draft } from "./draft.js";
import type { Fill } from "./fill.js";
import { NotPlannableError } from "./not-plannable.js";

/** Number of slots at the beginning. It doubles when there are more changes. Powers of two. */
const firstSlots = 1_024;

/**
 * The changes of drafts that are not known to be committed, by key. A hash table of its own, since a
 * `Map` that entries enter and leave all the time is copied again and again.
 */
export class PendingChanges {
  /**
   * By the checksum of the key: the newest change of the slot. Older ones follow in
   * {@link Change.below}.
   */
  #slots = newSlots(firstSlots);
  #count = 0;
  /** How many of the changes are to entries of cells. */
  #entries = 0;
  /**
   * How many changes outside its entry a cell has, by the checksum of the cell's key. Two cells may
   * share a count.
   */
  readonly #histories = new Map<number, number>();
  /** The drafts whose changes are pending, oldest first. */
  readonly #drafts = new Set<Draft>();
  /** The filled ranges of these drafts. */
  #fills: readonly Fill[] = [];

  get hasEntries(): boolean {
    return this.#entries > 0 || this.#fills.length > 0;
  }

  /** Whether a record outside the entry of the cell may have a pending change. */
  mayHaveHistory(cellSum: number): boolean {
    return this.#histories.has(cellSum);
  }

  /**
   * The newest pending change of the record with the key `bytes[start..start + length)`. Throws a
   * `NotPlannableError` if the key is in a range that a pending {@link Fill} fills: its records are
   * not indexed.
   */
  find(store: StoreName, sum: number, bytes: Buffer, start: number, length: number): Change | undefined {
    for (let i = 0; i < this.#fills.length; i++) {
      if (this.#fills[i]!.covers(bytes, start, length)) throw new NotPlannableError();
    }
    return this.#find(store, sum, bytes, start, length);
  }

  /** Whether a pending change is in the range of `fill`. */
  touches(fill: Fill): boolean {
    if (this.#fills.some((each) => each.overlaps(fill))) return true;
    for (const { changes } of this.#drafts) {
      for (let i = 0; i < changes.length; i++) {
        const { bytes, start, length } = changes[i]!;
        if (fill.covers(bytes, start, length)) return true;
      }
    }
    return false;
  }

  addFill(draft: Draft, fill: Fill): void {
    this.#drafts.add(draft);
    this.#fills = [...this.#fills, fill];
  }

  #find(store: StoreName, sum: number, bytes: Buffer, start: number, length: number): Change | undefined {
    const slots = this.#slots;
    let change = slots[sum & (slots.length - 1)];
    while (change !== undefined && !isOf(change, store, sum, bytes, start, length)) change = change.below;
    return change;
  }

  add(draft: Draft, changes: readonly Change[]): void {
    this.#drafts.add(draft);
    for (let i = 0; i < changes.length; i++) {
      const change = changes[i]!;
      change.draft = draft;
      const before = this.#find(change.store, change.sum, change.bytes, change.start, change.length);
      // Of the changes that one draft makes to a record, only the last can be read.
      if (before !== undefined && before.draft === draft) this.#remove(before);
      this.#insert(change);
      this.#noteHistory(change, 1);
    }
  }

  /**
   * Forgets the changes of a draft that is committed, and of the drafts before it, which are
   * committed too. Later reads must see these commits. Calls `forgotten` for each of these drafts.
   */
  forget(draft: Draft, forgotten: (draft: Draft) => void): void {
    if (!this.#drafts.has(draft)) return;
    for (const each of this.#drafts) {
      this.#drafts.delete(each);
      forgotten(each);
      const { changes, fills } = each;
      if (fills.length > 0) this.#fills = this.#fills.filter((fill) => !fills.includes(fill));
      for (let i = 0; i < changes.length; i++) {
        this.#remove(changes[i]!);
        this.#noteHistory(changes[i]!, -1);
      }
      if (each === draft) return;
    }
  }

  clear(): void {
    this.#drafts.clear();
    this.#fills = [];
    this.#slots = newSlots(firstSlots);
    this.#count = 0;
    this.#entries = 0;
    this.#histories.clear();
  }

  #insert(change: Change): void {
    if (this.#count >= this.#slots.length) this.#grow();
    const slots = this.#slots;
    const slot = change.sum & (slots.length - 1);
    change.below = slots[slot];
    slots[slot] = change;
    this.#count++;
    if (change.store === "cells") this.#entries++;
  }

  /** Removes a change, unless a later change of its draft has replaced it. */
  #remove(change: Change): void {
    const slots = this.#slots;
    const slot = change.sum & (slots.length - 1);
    const top = slots[slot];
    if (top === change) {
      slots[slot] = change.below;
    } else {
      let above = top;
      while (above !== undefined && above.below !== change) above = above.below;
      if (above === undefined) return;
      above.below = change.below;
    }
    change.below = undefined;
    this.#count--;
    if (change.store === "cells") this.#entries--;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = newSlots(2 * before.length);
    this.#count = 0;
    this.#entries = 0;
    for (const top of before) {
      // Oldest first, so that newer changes of a key stay before older ones.
      const chain: Change[] = [];
      for (let change = top; change !== undefined; change = change.below) chain.push(change);
      for (const change of chain.reverse()) this.#insert(change);
    }
  }

  #noteHistory({ store, cellSum }: Change, by: 1 | -1): void {
    if (store === "cells") return;
    const count = (this.#histories.get(cellSum) ?? 0) + by;
    if (count > 0) this.#histories.set(cellSum, count);
    else this.#histories.delete(cellSum);
  }
}

function newSlots(length: number): (Change | undefined)[] {
  return new Array<Change | undefined>(length).fill(undefined);
}

/**
 * Whether the change is of the record with the key `bytes[start..start + length)`. The keys of
 * records with equal checksums mostly differ at their end.
 */
function isOf(
  change: Change,
  store: StoreName,
  sum: number,
  bytes: Buffer,
  start: number,
  length: number,
): boolean {
  if (sum !== change.sum || length !== change.length || store !== change.store) return false;
  const own = change.bytes;
  const from = change.start;
  for (let i = length - 1; i >= 0; i--) if (own[from + i] !== bytes[start + i]) return false;
  return true;
}
