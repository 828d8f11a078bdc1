import { InvalidArgumentError, StoreDamagedError } from "../../errors/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { type Column, decodeValue, encodeRow, isColumn } from "../../schema/index.js";
import { asBuffer, type PartVersion } from "../../store/index.js";
import { notAColumn } from "../argument-errors.js";
import { type CellAddress, showCell } from "../cell/address.js";
import { readCells } from "../cell/raw.js";
import { ofPart } from "../cell/raw-walk.js";
import { decodeWrite, type WriteKind, type WriteRecord } from "../cell/records.js";
import type { TransactionContext } from "../context.js";
import { publicationOf } from "../read/load-visibility.js";
import { readCommitted } from "../read/settle.js";

/** One committed version of a cell, as `db.history` returns it. */
export interface HistoryEntry<V> {
  /** Timestamp of the commit that wrote this version. */
  readonly commitTimestamp: number;
  /** Start timestamp of the transaction that wrote this version. */
  readonly startTimestamp: number;
  /**
   * The commit timestamp as wall-clock time. Approximate: the oracle's clock may differ from this
   * machine's.
   */
  readonly time: Date;
  readonly kind: WriteKind;
  /** `undefined` for a delete. */
  readonly value: V | undefined;
}

/** The committed versions of a cell that garbage collection has kept, newest first. */
export async function history<V, K>(
  context: TransactionContext,
  column: Column<V, K>,
  row: K,
): Promise<readonly HistoryEntry<V>[]> {
  if (!isColumn(column)) throw notAColumn("history", column);
  if (!context.schemas.known(column.table)) await context.schemas.record([column.table]);
  const cell = { table: column.table.name, row: encodeRow(column.table, row), column: column.path };
  // Resolves the locks of transactions that have committed, so that their write records are there.
  await readCommitted(context, cell, await currentTimestamp(context));
  const versions = await readCells(context.store, cell, ["write", "data"], 0, Number.POSITIVE_INFINITY);
  const entries: HistoryEntry<V>[] = [];
  for (const version of ofPart(versions, "write")) {
    const record = decodeWrite(version.value);
    // A loaded value is committed when its load is published, and not before.
    const commit = record.loaded
      ? await publicationOf(context, record.start, readCommitted)
      : version.timestamp;
    if (commit === undefined) continue;
    const bytes = record.kind === "delete" ? undefined : recordedValue(cell, record, versions);
    entries.push({
      commitTimestamp: commit,
      startTimestamp: record.start,
      time: timestampToDate(commit),
      kind: record.kind,
      value: bytes === undefined ? undefined : decodeValue(column, row, bytes),
    });
  }
  return entries;
}

function recordedValue(cell: CellAddress, record: WriteRecord, versions: readonly PartVersion[]): Uint8Array {
  if (record.value !== undefined) return record.value;
  const data = ofPart(versions, "data").find((version) => version.timestamp === record.start);
  if (data !== undefined) return asBuffer(data.value);
  throw new StoreDamagedError(
    `The value of ${showCell(cell)} written at ${record.start} is missing. Run \`percolator check\`.`,
  );
}

/** Converts a timestamp to wall-clock time, rounded down to a millisecond. */
export function timestampToDate(timestamp: number): Date {
  return new Date(Math.floor(timestamp / 1_000));
}

/** The last timestamp in the millisecond of `date`. */
export function dateToTimestamp(date: Date): number {
  return date.getTime() * 1_000 + 999;
}

/** The least milliseconds since 1970 that a timestamp could be by mistake: the year 1973. */
const leastMs = 1e11;
/**
 * The least timestamp that comes from a clock: also the year 1973, in microseconds. Timestamps of a
 * store of tests may be smaller, as they may count from 0.
 */
const leastOfClock = 1e14;

/**
 * Throws an InvalidArgumentError if a given timestamp must be milliseconds, as `Date.now()` returns
 * them. As a timestamp it would be a moment of the year 1970.
 */
export function checkNotMilliseconds(name: string, timestamp: number, latest: number): void {
  if (timestamp < leastMs || timestamp >= leastOfClock || latest < leastOfClock) return;
  throw new InvalidArgumentError(
    `\`${name}\` is ${timestamp}, which looks like milliseconds, but timestamps are microseconds since 1970. ` +
      "Multiply it by 1,000.",
  );
}
