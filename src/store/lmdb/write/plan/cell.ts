import { readTimestamp } from "../../../bytes.js";
import type { Part, Version } from "../../../cell.js";
import { olderTimestamps, partTimestamps, storedPart, storedWrite } from "../../read/lookup.js";
import type { Databases } from "../../record/databases.js";
import { damagedStore } from "../../record/errors.js";
import {
  type InlineHistory,
  inlineLength,
  noInlineHistory,
  placeBelow,
  recordAt,
  recordsBelow,
  withNewer,
  withoutInterval,
} from "../../record/inline-history.js";
import { Key } from "../../record/key.js";
import {
  encodeEntry,
  flags,
  maxInlineBytes,
  maxNewestBytesOfInline,
  nearBytes,
  newestEnd,
  newestStart,
  openEntry,
  type ProtocolPart,
  protocolParts,
} from "../../record/layout.js";
import { sealed } from "../../record/seal.js";

/**
 * Planned changes by timestamp, in `versions` (for part `write`) or in `protocol`. A value stands
 * for a put, undefined for a delete.
 */
type Steps = Map<number, Uint8Array | undefined>;

const allVersions = Number.MAX_SAFE_INTEGER;
const key = new Key();

/**
 * One cell within one request. The first guard or mutation reads it, changes stay in memory, and
 * {@link write} stores it with as few puts as possible. Nothing reaches LMDB before that, so a
 * failed request has no effect.
 */
export class CellEdit {
  readonly prefix: Uint8Array;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
  readonly #databases: Databases;
  readonly #stored: boolean;
  #flags = 0;
  /** Timestamp of the newest write record. -1 if there is none. */
  #newest = -1;
  /** The newest write record, if it is stored in the cell's entry. */
  #bytes: Uint8Array | undefined;
  /** The older write records that are stored in the cell's entry. */
  #inline: InlineHistory = noInlineHistory;
  #changed = false;
  #steps: Map<Part, Steps> | undefined;
  /** Parts with deleted versions. {@link write} looks up once whether any version is left. */
  #thinned: Set<Part> | undefined;

  constructor(databases: Databases, prefix: Uint8Array, row: Uint8Array, column: Uint8Array) {
    this.#databases = databases;
    this.prefix = prefix;
    this.row = row;
    this.column = column;
    const entry = databases.cells.getBinaryFast(this.#key());
    this.#stored = entry !== undefined;
    if (entry === undefined) return;
    const length = openEntry(entry, entry.length, key.sum);
    this.#flags = entry[0]!;
    if (!this.#is(flags.write)) return;
    this.#newest = readTimestamp(entry, 1);
    if (this.#is(flags.far)) return;
    const start = newestStart(this.#flags);
    const copy = Buffer.allocUnsafe(length - start);
    entry.copy(copy, 0, start, length);
    const end = newestEnd(entry, length) - start;
    if (end === copy.length) {
      this.#bytes = copy;
    } else {
      this.#bytes = copy.subarray(0, end);
      this.#inline = copy.subarray(end);
    }
  }

  /**
   * Whether the cell has a version of `part` with `from <= timestamp < to`. Call it before any
   * change.
   */
  has(part: Part, from: number, to: number): boolean {
    if (part !== "write") {
      if (!this.#is(protocolParts[part].flag)) return false;
      return atLeast(partTimestamps(this.#databases, this.#key(), part, to - 1, 1), from);
    }
    if (this.#newest < from) return false;
    if (this.#newest < to) return true;
    const inline = this.#inlineBelow(to - 1);
    if (inline !== undefined) return inline.timestamp >= from;
    return this.#is(flags.older) && atLeast(olderTimestamps(this.#databases, this.#key(), to - 1, 1), from);
  }

  /**
   * The version of `part` at exactly `timestamp`. Undefined if there is none. Call it before any
   * change.
   */
  get(part: Part, timestamp: number): Uint8Array | undefined {
    if (part !== "write") {
      if (!this.#is(protocolParts[part].flag)) return undefined;
      return storedPart(this.#databases, this.#key(), part, timestamp);
    }
    if (timestamp === this.#newest && this.#bytes !== undefined) return this.#bytes;
    const inline = timestamp < this.#newest ? this.#inlineBelow(timestamp) : undefined;
    if (inline !== undefined) return inline.timestamp === timestamp ? inline.value : undefined;
    if (timestamp > this.#newest || !this.#is(flags.older | flags.far)) return undefined;
    return storedWrite(this.#databases, this.#key(), timestamp);
  }

  put(part: Part, timestamp: number, value: Uint8Array): void {
    this.#changed = true;
    if (part !== "write") {
      this.#step(part, timestamp, value);
      this.#flags |= protocolParts[part].flag;
    } else if (timestamp < this.#newest) {
      this.#moveInlineHistory();
      this.#putOlder(timestamp, value);
    } else {
      if (timestamp > this.#newest && this.#is(flags.write)) this.#demote();
      this.#setNewest(timestamp, value);
    }
  }

  /** Deletes every version of `part` with `from <= timestamp < to`. */
  delete(part: Part, from: number, to: number): void {
    if (part === "write") this.#deleteWrites(from, to);
    else this.#deletePart(part, from, to);
  }

  /**
   * Writes the changes to LMDB. If it throws, LMDB's transaction
   * must not be committed.
   */
  write(): void {
    if (!this.#changed) return;
    const { cells } = this.#databases;
    if (this.#thinned !== undefined) {
      for (const part of this.#thinned) {
        if (this.#newestStanding(part) < 0) this.#flags &= ~flagOf(part);
      }
    }
    const at = this.#key();
    if (this.#steps !== undefined) this.#writeSteps(at, this.#steps);
    at.cellOnly();
    if (this.#inline.length > 0) this.#flags |= flags.inline;
    else this.#flags &= ~flags.inline;
    if (this.#flags !== 0)
      cells.put(at, encodeEntry(at, this.#flags, this.#newest, this.#bytes, this.#inline));
    else if (this.#stored) cells.remove(at);
  }

  #key(): Key {
    return key.cell(this.prefix, this.row, this.column);
  }

  #is(flag: number): boolean {
    return (this.#flags & flag) !== 0;
  }

  /** The newest record at or below `at` among the older ones in the cell's entry. */
  #inlineBelow(at: number): Version | undefined {
    const { length } = this.#inline;
    if (length === 0) return undefined;
    const place = placeBelow(this.#inline, 0, length, at);
    return place < 0 ? undefined : recordAt(this.#inline, place, length);
  }

  /**
   * Moves the newest write record to the older ones. If it is short, it stays in the cell's entry.
   */
  #demote(): void {
    if (this.#bytes === undefined) {
      // The newest record is too long for the entry. So it is in `versions` already, and the entry
      // holds no older records.
      this.#flags |= flags.older;
      return;
    }
    const length = inlineLength(this.#bytes.length);
    if (this.#inline.length + length > maxInlineBytes) this.#moveInlineHistory();
    if (length <= maxInlineBytes) this.#inline = withNewer(this.#inline, this.#newest, this.#bytes);
    else this.#putOlder(this.#newest, this.#bytes);
  }

  /**
   * Moves all older write records of the entry to `versions`, where they are next to each other.
   */
  #moveInlineHistory(): void {
    for (const { timestamp, value } of recordsBelow(this.#inline, allVersions))
      this.#putOlder(timestamp, value);
    this.#inline = noInlineHistory;
  }

  #putOlder(timestamp: number, value: Uint8Array): void {
    this.#step("write", timestamp, value);
    this.#flags |= flags.older;
  }

  #setNewest(timestamp: number, value: Uint8Array): void {
    const wasFar = this.#is(flags.far) && timestamp === this.#newest;
    this.#newest = timestamp;
    this.#flags |= flags.write;
    if (value.length > maxNewestBytesOfInline) this.#moveInlineHistory();
    if (value.length > nearBytes) {
      this.#step("write", timestamp, value);
      this.#flags |= flags.far;
      this.#bytes = undefined;
    } else {
      if (wasFar) this.#step("write", timestamp, undefined);
      this.#flags &= ~flags.far;
      this.#bytes = value;
    }
  }

  #deletePart(part: ProtocolPart, from: number, to: number): void {
    if (this.#is(protocolParts[part].flag)) this.#deleteStanding(part, from, to);
  }

  #deleteWrites(from: number, to: number): void {
    if (!this.#is(flags.write) || this.#newest < from) return;
    if (this.#is(flags.older)) this.#deleteStanding("write", from, to);
    const inline = withoutInterval(this.#inline, from, to);
    const newestGoes = this.#newest >= from && this.#newest < to;
    if (inline === this.#inline && !newestGoes) return;
    this.#changed = true;
    this.#inline = inline;
    if (newestGoes) this.#promote();
  }

  /** Removes the newest write record, and makes the next older one the newest. */
  #promote(): void {
    if (this.#is(flags.far)) this.#step("write", this.#newest, undefined);
    this.#flags &= ~(flags.far | flags.write);
    this.#bytes = undefined;
    this.#newest = -1;
    if (this.#inline.length > 0) {
      const { timestamp, value } = recordAt(this.#inline, 0, this.#inline.length);
      this.#newest = timestamp;
      this.#bytes = value;
      this.#inline = this.#inline.subarray(inlineLength(value.length));
      this.#flags |= flags.write;
      return;
    }
    const next = this.#is(flags.older) ? this.#newestStanding("write") : -1;
    if (next < 0) return;
    const value = this.#olderWrite(next);
    this.#newest = next;
    this.#flags |= flags.write;
    this.#thin("write");
    if (value.length > nearBytes) {
      this.#flags |= flags.far;
    } else {
      this.#bytes = value;
      this.#step("write", next, undefined);
    }
  }

  #olderWrite(timestamp: number): Uint8Array {
    const value =
      this.#steps?.get("write")?.get(timestamp) ?? storedWrite(this.#databases, this.#key(), timestamp);
    if (value === undefined) throw damagedStore("no write record where one was listed");
    return value;
  }

  #thin(part: Part): void {
    this.#thinned ??= new Set();
    this.#thinned.add(part);
  }

  #step(part: Part, timestamp: number, value: Uint8Array | undefined): void {
    this.#steps ??= new Map();
    let steps = this.#steps.get(part);
    if (steps === undefined) {
      steps = new Map();
      this.#steps.set(part, steps);
    }
    steps.set(timestamp, value);
  }

  #writeSteps(at: Key, all: ReadonlyMap<Part, Steps>): void {
    const { versions, protocol } = this.#databases;
    for (const [part, steps] of all) {
      const database = part === "write" ? versions : protocol;
      for (const [timestamp, value] of steps) {
        if (part === "write") at.version(timestamp);
        else at.part(protocolParts[part].code, timestamp);
        if (value === undefined) database.remove(at);
        else database.put(at, sealed(at, value));
      }
    }
  }

  /** Stored timestamps below `to`, newest first, without the planned changes. */
  #storedBelow(part: Part, to: number): Iterable<number> {
    const below = Math.min(to - 1, allVersions);
    if (part === "write") return olderTimestamps(this.#databases, this.#key(), below, allVersions);
    return partTimestamps(this.#databases, this.#key(), part, below, allVersions);
  }

  /**
   * Deletes the versions from `from` to before `to`, as they are after the planned changes, except
   * the newest write record. This visits only the deleted versions, so the cost does not depend on
   * how many versions the cell has.
   */
  #deleteStanding(part: Part, from: number, to: number): void {
    const gone = new Set<number>();
    for (const timestamp of this.#storedBelow(part, to)) {
      if (timestamp < from) break;
      gone.add(timestamp);
    }
    const steps = this.#steps?.get(part);
    if (steps !== undefined && to === from + 1) {
      if (steps.has(from)) setOrNot(gone, from, steps.get(from));
    } else if (steps !== undefined) {
      for (const [timestamp, value] of steps)
        if (timestamp >= from && timestamp < to) setOrNot(gone, timestamp, value);
    }
    if (part === "write") gone.delete(this.#newest);
    if (gone.size === 0) return;
    for (const timestamp of gone) this.#step(part, timestamp, undefined);
    this.#changed = true;
    this.#thin(part);
  }

  /**
   * The timestamp of the newest version after the planned changes, apart from the newest write
   * record. -1 if there is no such version.
   */
  #newestStanding(part: Part): number {
    const newest = part === "write" ? this.#newest : -1;
    const steps = this.#steps?.get(part);
    let standing = -1;
    for (const [timestamp, value] of steps ?? []) {
      if (value !== undefined && timestamp !== newest && timestamp > standing) standing = timestamp;
    }
    for (const timestamp of this.#storedBelow(part, Number.POSITIVE_INFINITY)) {
      if (timestamp <= standing) break;
      if (timestamp !== newest && !(steps?.has(timestamp) ?? false)) return timestamp;
    }
    return standing;
  }
}

/** The flag that says whether the cell has versions of a part. */
function flagOf(part: Part): number {
  return part === "write" ? flags.older : protocolParts[part].flag;
}

function setOrNot(timestamps: Set<number>, timestamp: number, value: Uint8Array | undefined): void {
  if (value === undefined) timestamps.delete(timestamp);
  else timestamps.add(timestamp);
}

function atLeast(timestamps: Iterable<number>, from: number): boolean {
  for (const timestamp of timestamps) return timestamp >= from;
  return false;
}
