import type { CellView, Version } from "../../cell.js";
import type { Databases, VersionEntry } from "../record/databases.js";
import { damagedStore } from "../record/errors.js";
import { type InlineHistory, noInlineHistory, placeBelow, recordAt } from "../record/inline-history.js";
import { Key } from "../record/key.js";
import { flags, newestEnd, openEntry, type ProtocolPart, protocolParts } from "../record/layout.js";
import { checkedContent } from "../record/seal.js";

/**
 * Maximum number of data cells that a view shows: the newest. The data cell that a write record
 * names is usually among them. If it is not, the reader fetches it.
 */
const dataCellsShown = 4;

const noVersions: readonly Version[] = Object.freeze([]);
const from = new Key();
const to = new Key();

/** Versions of one part of the cell at `cell`, at or below `at`, newest first, as copies. */
export function partVersions(
  databases: Databases,
  cell: Key,
  part: ProtocolPart,
  at: number,
  limit: number,
): Iterable<VersionEntry> {
  const { code } = protocolParts[part];
  return databases.protocol.getRange({
    start: from.sameCell(cell).part(code, at),
    end: to.sameCell(cell).partEnd(code),
    limit,
  });
}

/**
 * Write records of the cell at `cell` that are stored outside its entry, at or below `at`, newest
 * first, as copies.
 */
export function olderWrites(
  databases: Databases,
  cell: Key,
  at: number,
  limit: number,
): Iterable<VersionEntry> {
  return databases.versions.getRange({
    start: from.sameCell(cell).version(at),
    end: to.sameCell(cell).versionsEnd(),
    limit,
  });
}

/** The timestamps of {@link olderWrites}, without the records. */
export function olderTimestamps(
  databases: Databases,
  cell: Key,
  at: number,
  limit: number,
): Iterable<number> {
  return databases.versions.getRange({
    start: from.sameCell(cell).version(at),
    end: to.sameCell(cell).versionsEnd(),
    limit,
    values: false,
  }) as Iterable<unknown> as Iterable<number>;
}

/** The timestamps of {@link partVersions}, without the values. */
export function partTimestamps(
  databases: Databases,
  cell: Key,
  part: ProtocolPart,
  at: number,
  limit: number,
): Iterable<number> {
  const { code } = protocolParts[part];
  return databases.protocol.getRange({
    start: from.sameCell(cell).part(code, at),
    end: to.sameCell(cell).partEnd(code),
    limit,
    values: false,
  }) as Iterable<unknown> as Iterable<number>;
}

/** The first of the versions, or undefined. */
export function firstVersion(entries: Iterable<VersionEntry>): Version | undefined {
  for (const entry of entries) return { timestamp: entry.key, value: entry.value };
  return undefined;
}

/** A copy of the write record at exactly `timestamp` in the database `versions`. */
export function storedWrite(databases: Databases, cell: Key, timestamp: number): Buffer | undefined {
  const key = from.sameCell(cell).version(timestamp);
  const record = databases.versions.getBinaryFast(key);
  return record === undefined ? undefined : checkedContent(key, record);
}

/** A copy of the version of `part` at exactly `timestamp`. */
export function storedPart(
  databases: Databases,
  cell: Key,
  part: ProtocolPart,
  timestamp: number,
): Buffer | undefined {
  const key = from.sameCell(cell).part(protocolParts[part].code, timestamp);
  const record = databases.protocol.getBinaryFast(key);
  return record === undefined ? undefined : checkedContent(key, record);
}

/** A copy of the older write records that the cell's entry holds after the newest one. */
export function readInlineHistory(databases: Databases, cell: Key): InlineHistory {
  const entry = databases.cells.getBinaryFast(cell);
  if (entry === undefined) return noInlineHistory;
  const length = openEntry(entry, entry.length, cell.sum);
  return Buffer.from(entry.subarray(newestEnd(entry, length), length));
}

/**
 * A copy of the newest record at or below `at` among the older write records in the cell's entry.
 */
function inlineBelow(databases: Databases, cell: Key, at: number): Version | undefined {
  const entry = databases.cells.getBinaryFast(cell);
  if (entry === undefined) return undefined;
  const length = openEntry(entry, entry.length, cell.sum);
  const place = placeBelow(entry, newestEnd(entry, length), length, at);
  if (place < 0) return undefined;
  const { timestamp, value } = recordAt(entry, place, length);
  return { timestamp, value: Buffer.from(value) };
}

/** What a cell's entry tells about the cell. */
export interface EntryFacts {
  readonly flags: number;
  /** Timestamp of the newest write record, or -1 if there is none. */
  readonly timestamp: number;
  /** The newest write record. Empty if it is outside the entry or above the read timestamp. */
  readonly bytes: Buffer;
}

/**
 * What a transaction at `at` sees of the cell at `cell`. Undefined if it sees neither a lock nor a
 * write record.
 */
export function viewCell(
  databases: Databases,
  cell: Key,
  column: Uint8Array,
  entry: EntryFacts,
  at: number,
): CellView | undefined {
  const latest = entry.timestamp <= at;
  const write = visibleWrite(databases, cell, entry, at);
  const lock =
    (entry.flags & flags.lock) === 0 ? undefined : firstVersion(partVersions(databases, cell, "lock", at, 1));
  if (write === undefined && lock === undefined) return undefined;
  let data = noVersions;
  if ((entry.flags & flags.data) !== 0) {
    data = Array.from(partVersions(databases, cell, "data", at, dataCellsShown), toVersion);
  }
  return { column, lock, write, latest, data };
}

/**
 * The view of a cell without lock and data, whose newest write record is visible and in its entry.
 */
export function plainView(column: Uint8Array, timestamp: number, value: Uint8Array): CellView {
  return { column, lock: undefined, write: { timestamp, value }, latest: true, data: noVersions };
}

/** Whether {@link plainView} shows the whole cell. */
export function isPlain(cellFlags: number): boolean {
  return (cellFlags & (flags.write | flags.lock | flags.data | flags.far)) === flags.write;
}

function toVersion(entry: VersionEntry): Version {
  return { timestamp: entry.key, value: entry.value };
}

function visibleWrite(databases: Databases, cell: Key, entry: EntryFacts, at: number): Version | undefined {
  if ((entry.flags & flags.write) === 0) return undefined;
  if (entry.timestamp > at) {
    const inline = (entry.flags & flags.inline) === 0 ? undefined : inlineBelow(databases, cell, at);
    if (inline !== undefined) return inline;
    return (entry.flags & flags.older) === 0 ? undefined : firstVersion(olderWrites(databases, cell, at, 1));
  }
  if ((entry.flags & flags.far) === 0) return { timestamp: entry.timestamp, value: entry.bytes };
  const far = firstVersion(olderWrites(databases, cell, entry.timestamp, 1));
  if (far?.timestamp !== entry.timestamp)
    throw damagedStore("no write record where a cell's entry names one");
  return far;
}
