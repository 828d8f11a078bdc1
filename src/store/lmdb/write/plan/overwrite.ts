import { compareBytes, readTimestamp, writeTimestamp } from "../../../bytes.js";
import {
  type AtomicBatch,
  commitTimestamp,
  type Guard,
  type Mutation,
  type RowMutation,
} from "../../../mutation.js";
import { checksumOf, viewOf } from "../../record/checksum.js";
import { headBytes, inlineLength, nextPlace } from "../../record/inline-history.js";
import {
  appendVersion,
  encodeCell,
  maxCellKeyBytes,
  tablePrefix,
  versionKeyBytes,
} from "../../record/key.js";
import {
  flags,
  headerBytes,
  inlineHeaderBytes,
  maxInlineBytes,
  maxNewestBytesOfInline,
  nearBytes,
  newestStart,
  openEntry,
} from "../../record/layout.js";
import { sealBytes } from "../../record/seal.js";
import { Change } from "../draft/change.js";
import type { Drafting } from "../draft/drafting.js";
import { valueStartAfter } from "../draft/instruction-layout.js";
import { copyBytes } from "../draft/slab.js";
import { GuardCache } from "./guard-cache.js";

/**
 * An overwrite is what a one-phase commit does to most cells: if the cell has no lock, and no write
 * record at or after a timestamp, it gets a new newest write record. This is planned in one step
 * per cell, without the objects that a {@link CellEdit} needs.
 */

/** An overwrite was planned. */
export const planned = -1;
/** The cell or the batch needs the general plan. */
export const unusual = -2;

const timestampBytes = 8;

/** The most bytes that the key of a cell and its entry have, apart from the newest write record. */
const entryRoom = maxCellKeyBytes + inlineHeaderBytes + maxInlineBytes + sealBytes;

/**
 * Whether every cell that `batch` changes is overwritten at most once, or is in a system table. The
 * cells of other tables must be in ascending order, so that each occurs once.
 */
export function hasOnlyOverwrites({ rows }: AtomicBatch): boolean {
  let last: RowMutation | undefined;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    if (row.mutations.length === 0 || GuardCache.covers(row.table)) continue;
    if (!isOverwrite(row) || (last !== undefined && !isAfter(row, last))) return false;
    last = row;
  }
  return last !== undefined;
}

/** Whether {@link hasOnlyOverwrites} counts `row` as overwrites. */
export function overwrites(row: RowMutation): boolean {
  return row.mutations.length > 0 && !GuardCache.covers(row.table);
}

function isOverwrite({ guards, mutations, stamped }: RowMutation): boolean {
  if (guards.length !== 2 * mutations.length || stamped === true) return false;
  for (let i = 0; i < mutations.length; i++) {
    const mutation = mutations[i]!;
    if (!isPut(mutation)) return false;
    if (!isNever(guards[2 * i]!, mutation, "lock") || !isNever(guards[2 * i + 1]!, mutation, "write"))
      return false;
    if (i > 0 && compareBytes(mutations[i - 1]!.column, mutation.column) >= 0) return false;
  }
  return true;
}

function isPut(mutation: Mutation): boolean {
  return (
    mutation.type === "put" &&
    mutation.part === "write" &&
    mutation.timestamp === commitTimestamp &&
    mutation.value.length <= nearBytes
  );
}

/** Whether the guard refuses every version of a part from some timestamp on. */
function isNever(guard: Guard, { column }: Mutation, part: "lock" | "write"): boolean {
  if (guard.type !== "absent" || guard.column !== column || guard.part !== part) return false;
  return guard.to === Number.POSITIVE_INFINITY && (part === "write" || guard.from === 0);
}

function isAfter(row: RowMutation, last: RowMutation): boolean {
  if (row.table !== last.table) return row.table > last.table;
  return compareBytes(row.row, last.row) > 0;
}

/**
 * Plans the overwrites of one row at `commit`. Returns {@link planned}, {@link unusual}, or the index
 * of the first guard that does not hold.
 */
export function planOverwrites(drafting: Drafting, row: RowMutation, commit: number): number {
  const prefix = tablePrefix(row.table);
  const { guards, mutations } = row;
  for (let i = 0; i < mutations.length; i++) {
    const mutation = mutations[i]!;
    const guard = guards[2 * i + 1]!;
    if (mutation.type !== "put" || guard.type !== "absent") return unusual;
    const { column, value } = mutation;
    const result = overwrite(drafting, prefix, row.row, column, guard.from, commit, value);
    if (result !== planned) return result === unusual ? unusual : 2 * i + result;
  }
  return planned;
}

/** Where the newest entry of a cell is: `bytes[start..end)`, without its seal. */
interface Entry {
  bytes: Buffer;
  view: DataView;
  start: number;
  /** 0 if the cell has no entry. */
  end: number;
}

/** Reused, because each overwrite needs one. */
const entry: Entry = { bytes: Buffer.alloc(0), view: new DataView(new ArrayBuffer(0)), start: 0, end: 0 };

/** Returns {@link planned}, {@link unusual}, 0 if the cell has a lock, or 1 if it was written. */
function overwrite(
  drafting: Drafting,
  prefix: Uint8Array,
  row: Uint8Array,
  column: Uint8Array,
  from: number,
  commit: number,
  value: Uint8Array,
): number {
  const { memory } = drafting;
  const keyStart = memory.beginChange(entryRoom + value.length);
  const { slab } = memory;
  const keyEnd = encodeCell(prefix, row, column, slab, keyStart);
  const sum = checksumOf(slab.view, keyStart, keyEnd, 0);
  const change = new Change("cells", slab, keyStart, keyEnd - keyStart, sum, sum);
  findEntry(drafting, change);
  const before = entry.end === 0 ? 0 : entry.bytes[entry.start]!;
  if ((before & flags.lock) !== 0) return 0;
  if ((before & ~(flags.write | flags.older | flags.inline)) !== 0) return unusual;
  if (before !== 0) {
    const newest = readTimestamp(entry.bytes, entry.start + 1);
    if (newest >= from) return 1;
    if (newest >= commit) return unusual;
  }
  planEntry(drafting, change, before, commit, value);
  return planned;
}

/** Sets `entry` to the newest entry of a cell: that of a draft, or the stored one. */
function findEntry({ pending, stored }: Drafting, key: Change): void {
  const { sum } = key;
  const change = pending.find("cells", sum, key.bytes, key.start, key.length);
  if (change !== undefined) {
    entry.bytes = change.bytes;
    entry.view = change.bytes.view;
    entry.start = change.valueStart;
    entry.end = change.valueEnd < 0 ? 0 : change.valueEnd - sealBytes;
    return;
  }
  const found = stored.cells.getBinaryFast(key);
  entry.start = 0;
  entry.end = 0;
  if (found === undefined) return;
  entry.bytes = found;
  entry.view = viewOf(found);
  entry.end = openEntry(found, found.length, sum);
}

/** Plans the entry with the new write record, and the records that leave the entry for it. */
function planEntry(
  drafting: Drafting,
  change: Change,
  before: number,
  commit: number,
  value: Uint8Array,
): void {
  const { start, end } = entry;
  const isWritten = before !== 0;
  const newestAt = isWritten ? start + newestStart(before) : start;
  const newestTo = (before & flags.inline) === 0 ? end : newestAt + entry.view.getUint16(start + headerBytes);
  const demoted = isWritten ? inlineLength(newestTo - newestAt) : 0;
  const isLong = value.length > maxNewestBytesOfInline;
  const olderLeave = isLong || end - newestTo + demoted > maxInlineBytes;
  const newestLeaves = isLong || demoted > maxInlineBytes;
  const keepsNewest = isWritten && !newestLeaves;
  const olderEnd = olderLeave ? newestTo : end;
  const leaves = isWritten && (newestLeaves || olderEnd < end);
  const inline = (keepsNewest ? demoted : 0) + (olderEnd - newestTo);

  const { bytes: slab } = change;
  const { view } = slab;
  const valueStart = valueStartAfter(change.start + change.length);
  slab[valueStart] =
    flags.write | (inline > 0 ? flags.inline : 0) | (leaves ? flags.older : before & flags.older);
  writeTimestamp(slab, valueStart + 1, commit);
  let at = valueStart + headerBytes;
  if (inline > 0) {
    view.setUint16(at, value.length);
    at += inlineHeaderBytes - headerBytes;
  }
  slab.set(value, at);
  at += value.length;
  if (keepsNewest) {
    copyBytes(entry.view, start + 1, view, at, timestampBytes);
    view.setUint16(at + timestampBytes, newestTo - newestAt);
    copyBytes(entry.view, newestAt, view, at + headBytes, newestTo - newestAt);
    at += demoted;
  }
  copyBytes(entry.view, newestTo, view, at, olderEnd - newestTo);
  at += olderEnd - newestTo;
  drafting.memory.used = plan(drafting, change, valueStart, at);

  if (!leaves) return;
  if (newestLeaves) planRecord(drafting, change, start + 1, newestAt, newestTo);
  for (let place = olderEnd; place < end; ) {
    const next = nextPlace(entry.bytes, place, end);
    planRecord(drafting, change, place, place + headBytes, next);
    place = next;
  }
}

/**
 * Plans the write record in `entry` from `from` to `to` for the database `versions`. `timestampAt` is
 * the place of its timestamp.
 */
function planRecord(drafting: Drafting, cell: Change, timestampAt: number, from: number, to: number): void {
  const { memory } = drafting;
  const keyStart = memory.beginChange(cell.length + versionKeyBytes + to - from + sealBytes);
  const { slab } = memory;
  const { view } = slab;
  copyBytes(cell.bytes.view, cell.start, view, keyStart, cell.length);
  const keyEnd = appendVersion(slab, keyStart + cell.length, readTimestamp(entry.bytes, timestampAt));
  const sum = checksumOf(view, keyStart, keyEnd, 0);
  const valueStart = valueStartAfter(keyEnd);
  copyBytes(entry.view, from, view, valueStart, to - from);
  const change = new Change("versions", slab, keyStart, keyEnd - keyStart, sum, cell.sum);
  memory.used = plan(drafting, change, valueStart, valueStart + to - from);
}

/** Seals the value of a change, and plans the change. Returns where the value ends. */
function plan({ planned }: Drafting, change: Change, valueStart: number, at: number): number {
  const { view } = change.bytes;
  view.setInt32(at, checksumOf(view, valueStart, at, change.sum), true);
  change.valueStart = valueStart;
  change.valueEnd = at + sealBytes;
  planned.push(change);
  return change.valueEnd;
}
