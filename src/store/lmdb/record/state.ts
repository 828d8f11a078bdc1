import { readTimestamp, writeTimestamp } from "../../bytes.js";
import type { Databases } from "./databases.js";
import { damagedStore, forget } from "./errors.js";
import { draftCondition, Key, placeholder } from "./key.js";
import { formatName, formatVersion } from "./layout.js";
import { contentLength, sealed } from "./seal.js";

/**
 * The state of the store as a whole, in `meta`. Every group that changes anything writes it once.
 */
export interface StoreState {
  /** The newest timestamp that was given out. */
  readonly counter: number;
  /** The last committed group: the queue that wrote it, and its number in that queue. */
  readonly writer: number;
  readonly group: number;
}

const stateKey = metaKey("state");
const sumOfStateKey = stateKey.sum;
const formatKey = metaKey("format");
/** While an upgrade seals records: the number of the database, and the last sealed key in it. */
const sealedThroughKey = metaKey("sealed through");
const sparesKey = metaKey("spares");
const record = Buffer.alloc(24);
/** In bytes: 15 pages, more than LMDB's list of free pages has ever changed at a commit. */
export const spareBytes = 60_000;
const spares = Buffer.alloc(spareBytes);
const newState: StoreState = Object.freeze({ counter: 0, writer: 0, group: 0 });

function metaKey(name: string): Key {
  return new Key().raw(Buffer.from(name));
}

/** The state in the current transaction or snapshot. */
export function readState(databases: Databases): StoreState {
  const bytes = databases.meta.getBinaryFast(stateKey);
  if (bytes === undefined) return newState;
  return {
    counter: counterOf(bytes),
    writer: readTimestamp(bytes, 8),
    group: readTimestamp(bytes, 16),
  };
}

/** The counter alone. */
export function readCounter(databases: Databases): number {
  const bytes = databases.meta.getBinaryFast(stateKey);
  return bytes === undefined ? 0 : counterOf(bytes);
}

/** Throws if LMDB cannot be read. */
export function checkReadable({ meta }: Pick<Databases, "meta">): void {
  meta.getBinaryFast(stateKey);
}

function counterOf(bytes: Uint8Array): number {
  const length = contentLength(bytes, bytes.length, sumOfStateKey);
  const counter = length === record.length ? readTimestamp(bytes, 0) : Number.NaN;
  if (Number.isSafeInteger(counter)) return counter;
  throw damagedStore(`a state of ${bytes.length} bytes with the counter ${counter}`);
}

/** Writes the state. The bytes are copied, so the change may also be one that is queued. */
export function writeState(databases: Pick<Databases, "meta">, state: StoreState): void {
  writeTimestamp(record, 0, state.counter);
  writeTimestamp(record, 8, state.writer);
  writeTimestamp(record, 16, state.group);
  databases.meta.put(stateKey, Buffer.from(sealed(stateKey, record)));
}

/**
 * Queues the changes that `change` makes, for the transaction whose action was queued just before.
 * LMDB's write thread makes them after that action, unless the action calls `drop` of the result.
 * `drop` writes nothing to the database. Until then, `memory` cannot be collected. Undefined if
 * nothing was queued, because the binding does not work as the pinned version does.
 */
export function queueChanges(
  { meta }: Pick<Databases, "meta">,
  memory: readonly unknown[],
  change: () => void,
): QueuedChanges | undefined {
  let queued: QueuedChanges | undefined;
  draftCondition.target = undefined;
  try {
    const condition = meta.ifNoExists(draftCondition, () => {
      queued = queuedUnder(draftCondition);
      if (queued !== undefined) change();
    });
    settle(condition);
  } catch (error) {
    if (queued !== undefined) queued = { ...queued, failure: error };
  } finally {
    // The binding keeps the callback until the thread has made this change, which is the last one.
    settle(meta.remove(placeholder, () => hold(memory)));
  }
  return queued;
}

/** Changes that wait for LMDB's write thread. */
export interface QueuedChanges {
  /** Why not all changes could be queued. */
  readonly failure: unknown;
  /**
   * Keeps the write thread from making the changes. Call it inside the action of their transaction,
   * while the thread waits.
   */
  drop(): void;
}

/**
 * The changes under a condition that the binding has just queued. The condition is that no record
 * has a key. To drop the changes, this writes the key of the format over that key: that record
 * exists. A put would do the same, but would make LMDB commit a transaction that must not be
 * committed.
 */
function queuedUnder({ target, targetStart, length }: typeof draftCondition): QueuedChanges | undefined {
  const isKnown = target instanceof Uint8Array && target.uint32 instanceof Uint32Array;
  if (!isKnown || formatKey.length !== length) return undefined;
  const drop = () => target.set(formatKey.bytes.subarray(0, length), targetStart);
  return { failure: undefined, drop };
}

/** Does nothing. A callback that calls it keeps `memory` from being collected. */
function hold(_memory: readonly unknown[]): void {}

/** The transaction reports its failure itself, so the promises of its changes are not needed. */
function settle(change: unknown): void {
  if (change instanceof Promise) change.catch(forget);
}

/**
 * Leaves free pages in LMDB's list in memory, for LMDB's own records at the commit. Otherwise
 * LMDB's fork may have to read more of its free list while it changes the list, and may then find
 * pages in the list that are already in use. This happens often after another process has
 * committed, since the list in memory then begins empty. This function puts and removes a long
 * value. The removal gives the value's pages to the list in memory.
 */
export function leaveFreePages({ meta }: Pick<Databases, "meta">): void {
  meta.put(sparesKey, spares);
  meta.remove(sparesKey);
}

/** The name and version of the layout. Undefined if none is recorded. */
export function readFormat(databases: Pick<Databases, "meta">): string | undefined {
  const bytes = databases.meta.getBinaryFast(formatKey);
  return bytes?.toString("utf8", 0, bytes.length);
}

export function writeFormat(databases: Pick<Databases, "meta">, format: string): void {
  databases.meta.put(formatKey, Buffer.from(format));
}

/**
 * The names of the layouts in `meta`. No single changed bit turns the name of the current layout
 * into the name of another one. Otherwise an upgrade would seal the records twice.
 */
export const formats = Object.freeze({
  first: `${formatName} 1`,
  /** The layout without seals. */
  second: `${formatName} 2`,
  /** An upgrade is running: some records have a checksum already (a seal), and some do not. */
  sealing: `${formatName} ${formatVersion} sealing`,
  current: `${formatName} ${formatVersion} sealed`,
});

/** Seals the state of layout 2. */
export function sealState(databases: Pick<Databases, "meta">): void {
  const bytes = databases.meta.getBinaryFast(stateKey);
  if (bytes === undefined) return;
  databases.meta.put(stateKey, sealed(stateKey, Buffer.from(bytes.subarray(0, bytes.length))));
}

export function readSealedThrough(databases: Pick<Databases, "meta">): Buffer | undefined {
  const bytes = databases.meta.getBinaryFast(sealedThroughKey);
  return bytes === undefined ? undefined : Buffer.from(bytes.subarray(0, bytes.length));
}

export function writeSealedThrough(databases: Pick<Databases, "meta">, through: Buffer): void {
  databases.meta.put(sealedThroughKey, through);
}
