import { isUtf8 } from "node:buffer";
import { StoreDamagedError } from "../../errors/index.js";
import { asBuffer, readTimestamp, storeLimits, writeTimestamp } from "../../store/index.js";
import type { CellAddress } from "./address.js";

/**
 * The protocol's records as bytes (protocol §1.2). Numbers are big-endian. The first byte of a
 * record holds flags. A lock instead begins with 8 bytes of min_commit_ts, which a store can
 * compare in a guard.
 */

export type WriteKind = "put" | "delete";

/** The record in `c:write`: the writing transaction, what it did, and the value if it is short. */
export interface WriteRecord {
  readonly start: number;
  readonly kind: WriteKind;
  /** True for a one-phase commit. Other one-phase transactions may share its start timestamp. */
  readonly onePhase: boolean;
  /**
   * True for a cell of a bulk load. The cell is visible once the load is published: see
   * {@link KnownLoads}. `start` identifies the load. Default: false.
   */
  readonly loaded?: boolean | undefined;
  /** The value. Undefined for a delete, and if the value is in `c:data` at `start`. */
  readonly value: Uint8Array | undefined;
}

/** The record in `c:lock`. */
export interface LockRecord {
  /** The transaction may commit only at this timestamp or later. */
  readonly minCommit: number;
  readonly kind: WriteKind;
  readonly primary: CellAddress;
  readonly session: string;
  /** Wall-clock time of the last refresh, in milliseconds. */
  readonly refreshedAt: number;
  /** Milliseconds after the last refresh during which the owner counts as alive. */
  readonly ttlMs: number;
  /** The value, if it is inline. */
  readonly value: Uint8Array | undefined;
  /** On a chunk's first cell: the other columns that were locked with it. */
  readonly others: readonly Uint8Array[];
}

/** The record in `c:txn`. */
export type StatusRecord =
  | { readonly outcome: "committed"; readonly commit: number }
  | { readonly outcome: "rolled-back" };

/** Bits of the flags in a write record and a lock. */
const flagDelete = 1;
const flagExternal = 2;
const flagOnePhase = 4;
const flagLoaded = 8;

const writeRecord = "write record";

/** Bytes before the value in a write record. */
export const writeHeaderBytes = 9;

export function encodeTimestamp(timestamp: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  writeTimestamp(bytes, 0, timestamp);
  return bytes;
}

/** Like {@link readTimestamp}, but throws if the bytes are damaged. */
export function checkedTimestamp(bytes: Buffer, offset: number, what: string): number {
  const timestamp = readTimestamp(bytes, offset);
  if (Number.isSafeInteger(timestamp)) return timestamp;
  throw unreadable(what, `its timestamp is ${timestamp}, which is not valid`);
}

export function encodeWrite(record: WriteRecord): Buffer {
  const value = record.value;
  const bytes = Buffer.allocUnsafe(writeHeaderBytes + (value?.length ?? 0));
  const external = record.kind === "put" && value === undefined;
  bytes[0] =
    (record.kind === "delete" ? flagDelete : 0) |
    (external ? flagExternal : 0) |
    (record.onePhase ? flagOnePhase : 0) |
    (record.loaded ? flagLoaded : 0);
  writeTimestamp(bytes, 1, record.start);
  if (value !== undefined) bytes.set(value, writeHeaderBytes);
  return bytes;
}

export function decodeWrite(bytes: Uint8Array): WriteRecord {
  const buffer = asBuffer(bytes);
  const form = writeForm(buffer);
  return {
    start: checkedTimestamp(buffer, 1, writeRecord),
    kind: form === "delete" ? "delete" : "put",
    onePhase: (buffer[0]! & flagOnePhase) !== 0,
    loaded: isLoaded(buffer),
    value: form === "value" || form === "loaded" ? buffer.subarray(writeHeaderBytes) : undefined,
  };
}

/** Whether a bulk load wrote the record. */
export function isLoaded(write: Uint8Array): boolean {
  return (write[0]! & flagLoaded) !== 0;
}

/** The start timestamp in a write record, unchecked. */
export function writeStart(write: Buffer, from = 0): number {
  return readTimestamp(write, from + 1);
}

/**
 * What a write record did: put a value that it holds, put a value that is in `c:data`, or deleted.
 * `loaded` is a value that the record holds and that a bulk load put. A reader must first find out
 * whether the load is published.
 */
export type WriteForm = "value" | "loaded" | "elsewhere" | "delete";

/**
 * Reads the form of a write record without decoding the rest. Throws if the bytes are no write
 * record.
 */
export function writeForm(bytes: Uint8Array, start = 0, end = bytes.length): WriteForm {
  const length = end - start;
  if (length >= writeHeaderBytes) {
    const flags = bytes[start]! & ~flagOnePhase;
    if (flags === 0) return "value";
    if (length === writeHeaderBytes && flags === flagDelete) return "delete";
    if (flags === flagLoaded) return "loaded";
    if (length === writeHeaderBytes && (flags & ~flagLoaded) === flagExternal) return "elsewhere";
  }
  const first = length > 0 ? bytes[start] : "nothing";
  throw unreadable(writeRecord, `its ${length} bytes begin with ${first}`);
}

export function encodeLock(record: LockRecord): Buffer {
  const pieces: Uint8Array[] = [];
  const head = Buffer.allocUnsafe(21);
  writeTimestamp(head, 0, record.minCommit);
  head[8] = (record.kind === "delete" ? flagDelete : 0) | (record.value === undefined ? flagExternal : 0);
  head.writeDoubleBE(record.refreshedAt, 9);
  head.writeUInt32BE(record.ttlMs, 17);
  pieces.push(head);
  pushPiece(pieces, Buffer.from(record.session));
  pushPiece(pieces, Buffer.from(record.primary.table));
  pushPiece(pieces, record.primary.row);
  pushPiece(pieces, record.primary.column);
  const count = Buffer.allocUnsafe(4);
  count.writeUInt32BE(record.others.length);
  pieces.push(count);
  for (const other of record.others) pushPiece(pieces, other);
  if (record.value !== undefined) pieces.push(record.value);
  return Buffer.concat(pieces);
}

function pushPiece(pieces: Uint8Array[], bytes: Uint8Array): void {
  const length = Buffer.allocUnsafe(2);
  length.writeUInt16BE(bytes.length);
  pieces.push(length, bytes);
}

export function decodeLock(bytes: Uint8Array): LockRecord {
  const buffer = asBuffer(bytes);
  checkLength(buffer, 21);
  let offset = 21;
  const piece = () => {
    checkLength(buffer, offset + 2);
    const length = buffer.readUInt16BE(offset);
    const end = offset + 2 + length;
    checkLength(buffer, end);
    const found = Buffer.from(buffer.subarray(offset + 2, end));
    offset = end;
    return found;
  };
  const session = decodeName(piece());
  const primary = { table: decodeTable(piece()), row: piece(), column: piece() };
  checkLength(buffer, offset + 4);
  const count = buffer.readUInt32BE(offset);
  offset += 4;
  const others: Uint8Array[] = [];
  for (let index = 0; index < count; index++) others.push(piece());
  return {
    minCommit: checkedTimestamp(buffer, 0, "lock"),
    kind: (buffer[8]! & flagDelete) !== 0 ? "delete" : "put",
    primary,
    session,
    refreshedAt: refreshTime(buffer),
    ttlMs: buffer.readUInt32BE(17),
    value: lockedValue(buffer, offset),
    others,
  };
}

/** The value at the lock's end, if its flags say that there is one. */
function lockedValue(buffer: Buffer, offset: number): Uint8Array | undefined {
  const flags = buffer[8]!;
  if (flags === 0) return Buffer.from(buffer.subarray(offset));
  if (flags !== flagExternal && flags !== (flagDelete | flagExternal)) {
    throw unreadable("lock", `its flags are ${flags}`);
  }
  if (offset !== buffer.length) throw unreadable("lock", `${buffer.length - offset} bytes follow it`);
  return undefined;
}

function refreshTime(buffer: Buffer): number {
  const refreshedAt = buffer.readDoubleBE(9);
  if (Number.isFinite(refreshedAt)) return refreshedAt;
  throw unreadable("lock", `its time is ${refreshedAt}`);
}

function decodeTable(bytes: Buffer): string {
  if (bytes.length > 0 && bytes.length <= storeLimits.tableBytes && !bytes.includes(0))
    return decodeName(bytes);
  throw unreadable("lock", "its table name is not valid");
}

function decodeName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  throw unreadable("lock", "a name in it is not UTF-8");
}

const statusCommitted = 1;
const statusRolledBack = 2;

export function encodeStatus(record: StatusRecord): Buffer {
  if (record.outcome === "rolled-back") return Buffer.of(statusRolledBack);
  return Buffer.concat([Buffer.of(statusCommitted), encodeTimestamp(record.commit)]);
}

export function decodeStatus(bytes: Uint8Array): StatusRecord {
  const buffer = asBuffer(bytes);
  if (buffer.length === 1 && buffer[0] === statusRolledBack) return { outcome: "rolled-back" };
  if (buffer.length === 9 && buffer[0] === statusCommitted) {
    return { outcome: "committed", commit: checkedTimestamp(buffer, 1, "transaction's status") };
  }
  throw unreadable("transaction's status", `it has ${buffer.length} bytes`);
}

function checkLength(buffer: Buffer, needed: number): void {
  if (buffer.length >= needed) return;
  throw unreadable("lock", `it has ${buffer.length} bytes, but at least ${needed} are needed`);
}

function unreadable(what: string, why: string): StoreDamagedError {
  return new StoreDamagedError(`A ${what} in the store cannot be read (${why}). Run \`percolator check\`.`);
}
