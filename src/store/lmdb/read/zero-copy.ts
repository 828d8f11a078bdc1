import { readTimestamp } from "../../bytes.js";
import type { ZeroCopyRecord } from "../../zero-copy.js";
import type { Databases } from "../record/databases.js";
import { placeBelow, recordAt } from "../record/inline-history.js";
import { CellAddress, tablePrefix } from "../record/key.js";
import { flags, newestEnd, newestStart, openEntry } from "../record/layout.js";
import { isPlain } from "./lookup.js";
import { lentBytes } from "./read.js";

const address = new CellAddress();

/** Reused by all reads, so that a read allocates nothing. */
const lent: { -readonly [K in keyof ZeroCopyRecord]: ZeroCopyRecord[K] } = {
  buffer: Buffer.alloc(0),
  start: 0,
  end: 0,
  latest: true,
};

/**
 * Implements `ZeroCopyStore.cell`: one lookup, without a copy or a new object. The returned bytes
 * are LMDB's own, valid until the next read.
 */
export function lendCell(
  databases: Databases,
  table: string,
  row: Uint8Array,
  rowLength: number,
  column: Uint8Array,
  at: number,
): ZeroCopyRecord | "absent" | undefined {
  return lend(databases, address.of(tablePrefix(table), row, column, rowLength), at);
}

/** Implements `ZeroCopyStore.textCell`: {@link lendCell} for a row that is a string. */
export function lendTextCell(
  databases: Databases,
  table: string,
  row: string,
  column: Uint8Array,
  at: number,
): ZeroCopyRecord | "absent" | undefined {
  return lend(databases, address.ofText(tablePrefix(table), row, column), at);
}

function lend({ cells }: Databases, cell: CellAddress, at: number): ZeroCopyRecord | "absent" | undefined {
  const entry = cells.getBinaryFast(cell);
  if (entry === undefined) return "absent";
  const length = openEntry(entry, entry.length, cell.sum);
  const cellFlags = entry[0]!;
  if (!isPlain(cellFlags) || length > lentBytes) return undefined;
  if (readTimestamp(entry, 1) > at) return lendOlder(entry, length, at);
  lent.buffer = entry;
  lent.start = newestStart(cellFlags);
  lent.end = newestEnd(entry, length);
  lent.latest = true;
  return lent;
}

/**
 * Lends the newest record at or below `at` of a cell whose newest record is above `at`. Undefined
 * if the lent record would be outside the entry.
 */
function lendOlder(entry: Buffer, length: number, at: number): ZeroCopyRecord | "absent" | undefined {
  const cellFlags = entry[0]!;
  const place =
    (cellFlags & flags.inline) === 0 ? -1 : placeBelow(entry, newestEnd(entry, length), length, at);
  if (place < 0) return (cellFlags & flags.older) === 0 ? "absent" : undefined;
  const record = recordAt(entry, place, length).value as Buffer;
  lent.buffer = record;
  lent.start = 0;
  lent.end = record.length;
  lent.latest = false;
  return lent;
}
