import type { Part, Version } from "../cell.js";
import {
  type Beside,
  besideLength,
  nothingBeside,
  placeBelow,
  recordAt,
  recordsBelow,
  withNewer,
  withoutInterval,
} from "./beside.js";
import type { Databases } from "./databases.js";
import { damagedStore } from "./errors.js";
import { Key, readTimestamp } from "./key.js";
import {
  besideBytes,
  besideNewestBytes,
  encodeEntry,
  flags,
  nearBytes,
  newestEnd,
  newestStart,
  openEntry,
  type ProtocolPart,
  protocolParts,
} from "./layout.js";
import { olderTimestamps, partTimestamps, storedPart, storedWrite } from "./lookup.js";
import { sealed } from "./seal.js";

/** A put, or a delete where there is no value, in `versions` (part `write`) or `protocol`. */
interface Step {
  readonly part: Part;
  readonly timestamp: number;
  readonly value: Uint8Array | undefined;
}

const allVersions = Number.MAX_SAFE_INTEGER;
const key = new Key();

/**
 * One cell within one request: read once, when its first guard or mutation meets it; changed here; written last,
 * with as few puts as do it. Nothing reaches LMDB before {@link write}, so a request that fails has done nothing.
 */
export class CellEdit {
  readonly prefix: Uint8Array;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
  readonly #databases: Databases;
  readonly #stored: boolean;
  #flags = 0;
  /** Timestamp of the newest write record; -1 where none stands. */
  #newest = -1;
  /** The newest write record where it is near. */
  #bytes: Uint8Array | undefined;
  /** The newest of the older ones. */
  #beside: Beside = nothingBeside;
  #changed = false;
  readonly #steps: Step[] = [];

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
      this.#beside = copy.subarray(end);
    }
  }

  /** Whether a version of `part` stands with `from <= timestamp < to`. To be asked before any change. */
  has(part: Part, from: number, to: number): boolean {
    if (part !== "write") {
      if (!this.#is(protocolParts[part].flag)) return false;
      return atLeast(partTimestamps(this.#databases, this.#key(), part, to - 1, 1), from);
    }
    if (this.#newest < from) return false;
    if (this.#newest < to) return true;
    const beside = this.#besideBelow(to - 1);
    if (beside !== undefined) return beside.timestamp >= from;
    return this.#is(flags.older) && atLeast(olderTimestamps(this.#databases, this.#key(), to - 1, 1), from);
  }

  /** The version of `part` at exactly `timestamp`, or undefined. To be asked before any change. */
  get(part: Part, timestamp: number): Uint8Array | undefined {
    if (part !== "write") {
      if (!this.#is(protocolParts[part].flag)) return undefined;
      return storedPart(this.#databases, this.#key(), part, timestamp);
    }
    if (timestamp === this.#newest && this.#bytes !== undefined) return this.#bytes;
    const beside = timestamp < this.#newest ? this.#besideBelow(timestamp) : undefined;
    if (beside !== undefined) return beside.timestamp === timestamp ? beside.value : undefined;
    if (timestamp > this.#newest || !this.#is(flags.older | flags.far)) return undefined;
    return storedWrite(this.#databases, this.#key(), timestamp);
  }

  put(part: Part, timestamp: number, value: Uint8Array): void {
    this.#changed = true;
    if (part !== "write") {
      this.#steps.push({ part, timestamp, value });
      this.#flags |= protocolParts[part].flag;
    } else if (timestamp < this.#newest) {
      this.#moveBeside();
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

  /** Writes what has changed; whether anything has. A failure leaves LMDB's transaction unfit to commit. */
  write(): boolean {
    if (!this.#changed) return false;
    const { cells, versions, protocol } = this.#databases;
    const at = this.#key();
    for (const { part, timestamp, value } of this.#steps) {
      const database = part === "write" ? versions : protocol;
      if (part === "write") at.version(timestamp);
      else at.part(protocolParts[part].code, timestamp);
      if (value === undefined) database.remove(at);
      else database.put(at, sealed(at, value));
    }
    at.cellOnly();
    if (this.#beside.length > 0) this.#flags |= flags.beside;
    else this.#flags &= ~flags.beside;
    if (this.#flags !== 0)
      cells.put(at, encodeEntry(at, this.#flags, this.#newest, this.#bytes, this.#beside));
    else if (this.#stored) cells.remove(at);
    return true;
  }

  #key(): Key {
    return key.cell(this.prefix, this.row, this.column);
  }

  #is(flag: number): boolean {
    return (this.#flags & flag) !== 0;
  }

  /** The newest of the records beside the newest one, at or below `at`. */
  #besideBelow(at: number): Version | undefined {
    const { length } = this.#beside;
    if (length === 0) return undefined;
    const place = placeBelow(this.#beside, 0, length, at);
    return place < 0 ? undefined : recordAt(this.#beside, place, length);
  }

  /** Moves the newest write record to the older ones, beside its successor if it is short. */
  #demote(): void {
    if (this.#bytes === undefined) {
      // It is far, so it stands there already, and nothing stands beside it.
      this.#flags |= flags.older;
      return;
    }
    const length = besideLength(this.#bytes.length);
    if (this.#beside.length + length > besideBytes) this.#moveBeside();
    if (length <= besideBytes) this.#beside = withNewer(this.#beside, this.#newest, this.#bytes);
    else this.#putOlder(this.#newest, this.#bytes);
  }

  /** Moves all older write records to `versions`, where they stand next to each other. */
  #moveBeside(): void {
    for (const { timestamp, value } of recordsBelow(this.#beside, allVersions))
      this.#putOlder(timestamp, value);
    this.#beside = nothingBeside;
  }

  #putOlder(timestamp: number, value: Uint8Array): void {
    this.#steps.push({ part: "write", timestamp, value });
    this.#flags |= flags.older;
  }

  #setNewest(timestamp: number, value: Uint8Array): void {
    const wasFar = this.#is(flags.far) && timestamp === this.#newest;
    this.#newest = timestamp;
    this.#flags |= flags.write;
    if (value.length > besideNewestBytes) this.#moveBeside();
    if (value.length > nearBytes) {
      this.#steps.push({ part: "write", timestamp, value });
      this.#flags |= flags.far;
      this.#bytes = undefined;
    } else {
      if (wasFar) this.#steps.push({ part: "write", timestamp, value: undefined });
      this.#flags &= ~flags.far;
      this.#bytes = value;
    }
  }

  #deletePart(part: ProtocolPart, from: number, to: number): void {
    const { flag } = protocolParts[part];
    if (!this.#is(flag)) return;
    const standing = this.#standing(part);
    const left = this.#deleteSteps(part, standing, from, to);
    if (left.length === standing.length) return;
    this.#changed = true;
    if (left.length === 0) this.#flags &= ~flag;
  }

  #deleteWrites(from: number, to: number): void {
    if (!this.#is(flags.write) || this.#newest < from) return;
    const older = this.#is(flags.older) ? this.#standing("write") : [];
    const left = this.#deleteSteps("write", older, from, to);
    const beside = withoutInterval(this.#beside, from, to);
    const newestGoes = this.#newest >= from && this.#newest < to;
    if (left.length === older.length && beside === this.#beside && !newestGoes) return;
    this.#changed = true;
    this.#beside = beside;
    if (newestGoes) this.#promote(left);
    if (left.length === 0) this.#flags &= ~flags.older;
  }

  /** Drops the newest write record and puts the next older one, the first of `older`, in its place. */
  #promote(older: number[]): void {
    if (this.#is(flags.far)) this.#steps.push({ part: "write", timestamp: this.#newest, value: undefined });
    this.#flags &= ~(flags.far | flags.write);
    this.#bytes = undefined;
    this.#newest = -1;
    if (this.#beside.length > 0) {
      const { timestamp, value } = recordAt(this.#beside, 0, this.#beside.length);
      this.#newest = timestamp;
      this.#bytes = value;
      this.#beside = this.#beside.subarray(besideLength(value.length));
      this.#flags |= flags.write;
      return;
    }
    const next = older.shift();
    if (next === undefined) return;
    const value = this.#olderWrite(next);
    this.#newest = next;
    this.#flags |= flags.write;
    if (value.length > nearBytes) {
      this.#flags |= flags.far;
    } else {
      this.#bytes = value;
      this.#steps.push({ part: "write", timestamp: next, value: undefined });
    }
  }

  #olderWrite(timestamp: number): Uint8Array {
    const step = this.#steps.findLast((each) => each.part === "write" && each.timestamp === timestamp);
    const value = step?.value ?? storedWrite(this.#databases, this.#key(), timestamp);
    if (value === undefined) throw damagedStore("no write record where one was listed");
    return value;
  }

  /** Timestamps of the versions that stand with the steps so far, newest first; the newest write record apart. */
  #standing(part: Part): number[] {
    const at = this.#key();
    const stored =
      part === "write"
        ? olderTimestamps(this.#databases, at, allVersions, allVersions)
        : partTimestamps(this.#databases, at, part, allVersions, allVersions);
    const standing = new Set(stored);
    for (const step of this.#steps) {
      if (step.part !== part) continue;
      if (step.value === undefined) standing.delete(step.timestamp);
      else standing.add(step.timestamp);
    }
    if (part === "write") standing.delete(this.#newest);
    return [...standing].sort((a, b) => b - a);
  }

  /** Deletes those of `standing` in the interval, and gives those that are left. */
  #deleteSteps(part: Part, standing: readonly number[], from: number, to: number): number[] {
    const left: number[] = [];
    for (const timestamp of standing) {
      if (timestamp < from || timestamp >= to) left.push(timestamp);
      else this.#steps.push({ part, timestamp, value: undefined });
    }
    return left;
  }
}

function atLeast(timestamps: Iterable<number>, from: number): boolean {
  for (const timestamp of timestamps) return timestamp >= from;
  return false;
}
