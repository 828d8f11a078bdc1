import type { CellView, Version } from "../../cell.js";
import type { Databases, VersionEntry } from "../record/databases.js";
import { damagedStore } from "../record/errors.js";
import { type Beside, nothingBeside, placeBelow, recordAt } from "../record/inline-history.js";
import { Key } from "../record/key.js";
import { flags, newestEnd, openEntry, type ProtocolPart, protocolParts } from "../record/layout.js";
import { contentUnder } from "../record/seal.js";

/** Data cells that a view shows: the one that a write record names is among the newest, or has to be asked for. */
const dataCellsShown = 4;

const noVersions: readonly Version[] = Object.freeze([]);
const from = new Key();
const to = new Key();

/** Versions of a part of the cell at `cell`, at or below `at`, newest first. Copies. */
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

/** Older write records of the cell at `cell`, at or below `at`, newest first. Copies. */
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

/** Timestamps of older write records, as {@link olderWrites}. */
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

/** Timestamps of versions of a part, as {@link partVersions}. */
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
export function first(entries: Iterable<VersionEntry>): Version | undefined {
  for (const entry of entries) return { timestamp: entry.key, value: entry.value };
  return undefined;
}

/** A copy of the write record at exactly `timestamp`, which stands in `versions`. */
export function storedWrite(databases: Databases, cell: Key, timestamp: number): Buffer | undefined {
  const key = from.sameCell(cell).version(timestamp);
  const record = databases.versions.getBinaryFast(key);
  return record === undefined ? undefined : contentUnder(key, record);
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
  return record === undefined ? undefined : contentUnder(key, record);
}

/** A copy of what stands beside the newest write record of the cell at `cell`. */
export function readBeside(databases: Databases, cell: Key): Beside {
  const entry = databases.cells.getBinaryFast(cell);
  if (entry === undefined) return nothingBeside;
  const length = openEntry(entry, entry.length, cell.sum);
  return Buffer.from(entry.subarray(newestEnd(entry, length), length));
}

/** A copy of the newest of the write records beside the newest one that is at or below `at`. */
function besideBelow(databases: Databases, cell: Key, at: number): Version | undefined {
  const entry = databases.cells.getBinaryFast(cell);
  if (entry === undefined) return undefined;
  const length = openEntry(entry, entry.length, cell.sum);
  const place = placeBelow(entry, newestEnd(entry, length), length, at);
  if (place < 0) return undefined;
  const { timestamp, value } = recordAt(entry, place, length);
  return { timestamp, value: Buffer.from(value) };
}

/** What is known of a cell from its entry. */
export interface EntryFacts {
  readonly flags: number;
  /** Of the newest write record; -1 where none stands. */
  readonly timestamp: number;
  /** The newest write record where it is near, and at or below the read timestamp. */
  readonly bytes: Buffer;
}

/** What a transaction at `at` sees of the cell at `cell`; undefined where that is neither lock nor write record. */
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
    (entry.flags & flags.lock) === 0 ? undefined : first(partVersions(databases, cell, "lock", at, 1));
  if (write === undefined && lock === undefined) return undefined;
  let data = noVersions;
  if ((entry.flags & flags.data) !== 0) {
    data = Array.from(partVersions(databases, cell, "data", at, dataCellsShown), toVersion);
  }
  return { column, lock, write, latest, data };
}

/** The view of a cell that has no lock and no data, and whose newest write record is near and visible. */
export function plainView(column: Uint8Array, timestamp: number, value: Uint8Array): CellView {
  return { column, lock: undefined, write: { timestamp, value }, latest: true, data: noVersions };
}

/** Whether {@link plainView} shows all that there is to see. */
export function isPlain(cellFlags: number): boolean {
  return (cellFlags & (flags.write | flags.lock | flags.data | flags.far)) === flags.write;
}

function toVersion(entry: VersionEntry): Version {
  return { timestamp: entry.key, value: entry.value };
}

function visibleWrite(databases: Databases, cell: Key, entry: EntryFacts, at: number): Version | undefined {
  if ((entry.flags & flags.write) === 0) return undefined;
  if (entry.timestamp > at) {
    const beside = (entry.flags & flags.beside) === 0 ? undefined : besideBelow(databases, cell, at);
    if (beside !== undefined) return beside;
    return (entry.flags & flags.older) === 0 ? undefined : first(olderWrites(databases, cell, at, 1));
  }
  if ((entry.flags & flags.far) === 0) return { timestamp: entry.timestamp, value: entry.bytes };
  const far = first(olderWrites(databases, cell, entry.timestamp, 1));
  if (far?.timestamp !== entry.timestamp)
    throw damagedStore("no write record where a cell's entry names one");
  return far;
}
