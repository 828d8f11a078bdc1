import type { Databases } from "./databases.js";
import { damagedStore } from "./errors.js";
import { Key, readTimestamp, writeTimestamp } from "./key.js";
import { formatName, formatVersion } from "./layout.js";
import { contentLength, sealed } from "./seal.js";

/** What `meta` says of the store as a whole; written once by every group that changes anything. */
export interface StoreState {
  /** The newest timestamp that was given away. */
  readonly counter: number;
  /** The last group that was committed: whose, and its number there. */
  readonly writer: number;
  readonly group: number;
}

const stateKey = metaKey("state");
const sumOfStateKey = stateKey.sum;
const formatKey = metaKey("format");
/**
 * While records are being sealed: the number of the database, and the last key in it that is done.
 */
const sealedThroughKey = metaKey("sealed through");
const sparesKey = metaKey("spares");
const record = Buffer.alloc(24);
/** Sixteen pages, more than LMDB's records of free pages have changed at a commit. */
export const spareBytes = 60_000;
const spares = Buffer.alloc(spareBytes);
const newState: StoreState = Object.freeze({ counter: 0, writer: 0, group: 0 });

function metaKey(name: string): Key {
  return new Key().raw(Buffer.from(name));
}

/** The state, as of the transaction or snapshot of the moment. */
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
 * Leaves free pages in the list that LMDB has in memory, for it to keep its own records with at the
 * commit. Its fork may else have to read on in those records while it changes them, and then meets
 * pages that are half divided: after another process has committed the list begins empty, so that
 * it often ends just there. A long value that is put and removed gives back the pages it has got.
 */
export function leaveFreePages({ meta }: Pick<Databases, "meta">): void {
  meta.put(sparesKey, spares);
  meta.remove(sparesKey);
}

/** The name and version of the layout, or undefined where none is recorded. */
export function readFormat(databases: Pick<Databases, "meta">): string | undefined {
  const bytes = databases.meta.getBinaryFast(formatKey);
  return bytes?.toString("utf8", 0, bytes.length);
}

export function writeFormat(databases: Pick<Databases, "meta">, format: string): void {
  databases.meta.put(formatKey, Buffer.from(format));
}

/**
 * How `meta` names the layouts. A changed bit in the number of the current one makes none of the
 * others of it: then records would be sealed twice.
 */
export const formats = Object.freeze({
  first: `${formatName} 1`,
  /** Without seals. */
  second: `${formatName} 2`,
  /** Records are being sealed: some have a seal, and some do not. */
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
