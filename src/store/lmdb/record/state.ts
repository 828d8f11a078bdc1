import { readTimestamp, writeTimestamp } from "../../bytes.js";
import type { Databases } from "./databases.js";
import { damagedStore } from "./errors.js";
import { Key } from "./key.js";
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
/** Sixteen pages: more than LMDB's list of free pages has ever changed at a commit, in bytes. */
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

function counterOf(bytes: Uint8Array): number {
  const length = contentLength(bytes, bytes.length, sumOfStateKey);
  const counter = length === record.length ? readTimestamp(bytes, 0) : Number.NaN;
  if (Number.isSafeInteger(counter)) return counter;
  throw damagedStore(`a state of ${bytes.length} bytes with the counter ${counter}`);
}

export function writeState(databases: Databases, state: StoreState): void {
  writeTimestamp(record, 0, state.counter);
  writeTimestamp(record, 8, state.writer);
  writeTimestamp(record, 16, state.group);
  databases.meta.put(stateKey, sealed(stateKey, record));
}

/**
 * Leaves free pages in LMDB's list in memory, for LMDB's own records at the commit. Otherwise
 * LMDB's fork may have to read more of its free list while it changes the list, and then meets
 * pages that are already in use. That happens often after another process has committed, since the
 * list in memory then begins empty. This puts and removes a long value, which gives its pages back
 * to the list.
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
 * into another's. Otherwise its records would be sealed twice.
 */
export const formats = Object.freeze({
  first: `${formatName} 1`,
  /** The layout without seals. */
  second: `${formatName} 2`,
  /** An upgrade is running: some records have a seal, and some do not. */
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
