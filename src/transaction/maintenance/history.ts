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

/** The options of `db.history`. */
export interface HistoryOptions {
  /** Most versions to return, and about as many are read. Default: all that are kept. */
  readonly limit?: number | undefined;
}

/** The committed versions of a cell that garbage collection has kept, newest first. */
export async function history<V, K>(
  context: TransactionContext,
  column: Column<V, K>,
  row: K,
  { limit }: HistoryOptions = {},
): Promise<readonly HistoryEntry<V>[]> {
  if (!isColumn(column)) throw notAColumn("history", column);
  if (!context.schemas.known(column.table)) await context.schemas.record([column.table]);
  const cell = { table: column.table.name, row: encodeRow(column.table, row), column: column.path };
  // Resolves the locks of transactions that have committed, so that their write records are there.
  await readCommitted(context, cell, await currentTimestamp(context));
  if (limit !== undefined) {
    const newest = await newestEntries(context, column, row, cell, limit);
    if (newest !== undefined) return newest;
  }
  const versions = await readCells(context.store, cell, ["write", "data"], 0, Number.POSITIVE_INFINITY);
  const entries = await entriesOf(context, column, row, cell, versions);
  return limit === undefined ? entries : entries.slice(0, limit);
}

/**
 * The newest versions of a cell. Undefined if they cannot be told from the newest records: one of a load
 * that is not published is no version, and one of a transaction that failed hides a value.
 */
async function newestEntries<V, K>(
  context: TransactionContext,
  column: Column<V, K>,
  row: K,
  cell: CellAddress,
  limit: number,
): Promise<readonly HistoryEntry<V>[] | undefined> {
  const versions = await readCells(
    context.store,
    cell,
    ["write", "data"],
    0,
    Number.POSITIVE_INFINITY,
    limit,
  );
  const writes = ofPart(versions, "write").map(({ value }) => decodeWrite(value));
  const values = new Set(ofPart(versions, "data").map(({ timestamp }) => timestamp));
  const isWhole = ({ kind, start, value }: WriteRecord) =>
    kind === "delete" || value !== undefined || values.has(start);
  if (!writes.every(isWhole)) return undefined;
  const entries = await entriesOf(context, column, row, cell, versions);
  return entries.length === writes.length ? entries : undefined;
}

async function entriesOf<V, K>(
  context: TransactionContext,
  column: Column<V, K>,
  row: K,
  cell: CellAddress,
  versions: readonly PartVersion[],
): Promise<readonly HistoryEntry<V>[]> {
  const values = new Map(ofPart(versions, "data").map(({ timestamp, value }) => [timestamp, value]));
  const entries: HistoryEntry<V>[] = [];
  for (const version of ofPart(versions, "write")) {
    const record = decodeWrite(version.value);
    // A loaded value is committed when its load is published, and not before.
    const commit = record.loaded
      ? await publicationOf(context, record.start, readCommitted)
      : version.timestamp;
    if (commit === undefined) continue;
    const bytes = record.kind === "delete" ? undefined : recordedValue(cell, record, values);
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

function recordedValue(
  cell: CellAddress,
  record: WriteRecord,
  values: ReadonlyMap<number, Uint8Array>,
): Uint8Array {
  if (record.value !== undefined) return record.value;
  const value = values.get(record.start);
  if (value !== undefined) return asBuffer(value);
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
