import { writeTimestamp } from "../../../bytes.js";
import { type CellBlock, CellCursor } from "../../../cell-block.js";
import { checksumOf } from "../../record/checksum.js";
import { type Databases, entryReader } from "../../record/databases.js";
import {
  appendVersion,
  encodeCellAt,
  Key,
  maxCellKeyBytes,
  tablePrefix,
  versionKeyBytes,
} from "../../record/key.js";
import { flags, headerBytes, nearBytes } from "../../record/layout.js";
import { sealBytes } from "../../record/seal.js";
import type { Drafting } from "../draft/drafting.js";
import { Fill, isVersion, lengthsBytes, noBytes } from "../draft/fill.js";
import { NotPlannableError } from "../draft/not-plannable.js";
import { copyBytes, type Slab } from "../draft/slab.js";

/** For longer records, a native copy is faster than a loop. */
const shortBytes = 128;

const low = new Key();
const high = new Key();

/**
 * Plans to put the cells of a block. Returns false if the range is not empty. Throws a
 * `NotPlannableError` if that depends on a draft that is not committed.
 */
export function planFill(drafting: Drafting, block: CellBlock): boolean {
  const fill = new Fill();
  const prefix = tablePrefix(block.table);
  const cursor = new CellCursor(block);
  while (cursor.next()) {
    planCell(drafting, fill, prefix, cursor, block.timestamp);
    if (fill.first === noBytes) fill.first = fill.keyIn(drafting.memory.slab);
  }
  fill.last = fill.keyIn(drafting.memory.slab);
  if (!isEmpty(drafting.stored, fill)) return false;
  if (drafting.pending.touches(fill)) throw new NotPlannableError();
  drafting.plannedFill = fill;
  return true;
}

/** Whether no cell has an entry in the range. Each cell that has any version has one. */
function isEmpty({ cells }: Databases, { first, last }: Fill): boolean {
  // The walk that was reading entries has ended, and must not get this key.
  entryReader.current = undefined;
  const start = low.raw(first);
  const end = high.raw(last);
  for (const _ of cells.getRange({ start, end, inclusiveEnd: true, values: false, limit: 1 })) return false;
  return true;
}

function planCell(
  { memory }: Drafting,
  fill: Fill,
  prefix: Uint8Array,
  cursor: CellCursor,
  timestamp: number,
): void {
  const { buffer, recordStart, recordEnd } = cursor;
  const length = recordEnd - recordStart;
  const isFar = length > nearBytes;
  memory.reserve(2 * (lengthsBytes + maxCellKeyBytes + sealBytes) + headerBytes + versionKeyBytes + length);
  const { slab, used } = memory;
  const { view } = slab;
  const keyStart = used + lengthsBytes;
  const keyEnd = encodeCellAt(prefix, cursor, slab, keyStart);
  slab[keyEnd] = isFar ? flags.write | flags.far : flags.write;
  writeTimestamp(slab, keyEnd + 1, timestamp);
  let end = keyEnd + headerBytes;
  if (!isFar) end = copyRecord(buffer, recordStart, recordEnd, slab, end);
  end = finish(slab, used, keyEnd, end, 0);
  if (isFar) {
    copyBytes(view, keyStart, view, end + lengthsBytes, keyEnd - keyStart);
    const versionKeyEnd = appendVersion(slab, end + lengthsBytes + keyEnd - keyStart, timestamp);
    const versionEnd = copyRecord(buffer, recordStart, recordEnd, slab, versionKeyEnd);
    end = finish(slab, end, versionKeyEnd, versionEnd, isVersion);
  }
  fill.keyStart = keyStart;
  fill.keyEnd = keyEnd;
  fill.add(slab, used, end);
  memory.used = end;
}

function copyRecord(source: Buffer, from: number, to: number, slab: Slab, at: number): number {
  if (to - from > shortBytes) source.copy(slab, at, from, to);
  else for (let i = from, target = at; i < to; i++) slab[target++] = source[i]!;
  return at + to - from;
}

/** Seals a record that begins with its lengths at `start`. Returns where the record ends. */
function finish(slab: Slab, start: number, keyEnd: number, valueEnd: number, store: number): number {
  const { view } = slab;
  const keyStart = start + lengthsBytes;
  const sum = checksumOf(view, keyStart, keyEnd, 0);
  view.setInt32(valueEnd, checksumOf(view, keyEnd, valueEnd, sum), true);
  const end = valueEnd + sealBytes;
  view.setInt32(start, (keyEnd - keyStart) | store);
  view.setInt32(start + 4, end - keyEnd);
  return end;
}
