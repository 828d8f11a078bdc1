import { prefixEnd } from "../../schema/index.js";
import {
  allColumns,
  asBuffer,
  type Guard,
  type Mutation,
  type MutationAnswer,
  type RowMutation,
  type RowStore,
} from "../../store/index.js";
import {
  type CellAddress,
  crashRecordTimestamp,
  decodeWrite,
  hintTable,
  putHint,
} from "../../transaction/index.js";
import { decodeJson, encodeJson, isString, isTime, isWhole, optional, record } from "../stored-json.js";

/*
 * A hint's row is the observer's name, NUL, a bucket's byte and the row's bytes; its column is the
 * cell's path. So all hints of an observer are one range, and so are those of one of its buckets.
 * The table is not in it: an observer watches one.
 */

const noBytes = new Uint8Array(0);

/** Over so many buckets the hints of an observer are spread, and shared out among processes. */
export const buckets = 64;

/**
 * What has become of a hint: nothing yet, unless a run of it failed, took long, or ended with its
 * process.
 */
export interface HintState {
  /** Attempts that have failed, or were begun and never ended. */
  readonly attempts: number;
  /** Wall time in milliseconds before which it is not to be run. */
  readonly notBefore: number;
  /** The last failure, in short. */
  readonly error?: string | undefined;
  /** How many of the attempts ended with their process. */
  readonly crashes?: number | undefined;
  /** Timestamp up to which unclean ends of processes have been counted in it. */
  readonly countedUpTo?: number | undefined;
  /** The session in which a long run is under way. */
  readonly runner?: string | undefined;
}

const isHintState = record<HintState>({
  attempts: isWhole,
  notBefore: isTime,
  error: optional(isString),
  crashes: optional(isWhole),
  countedUpTo: optional(isWhole),
  runner: optional(isString),
});

/** What outlives the versions of a hint: see {@link crashRecordTimestamp}. */
export interface CrashRecord {
  /** How many processes ended while they ran the observer on the cell. */
  readonly crashes: number;
  /** Timestamp up to which unclean ends of processes have been counted. */
  readonly countedUpTo: number;
  /** The session that runs it. */
  readonly runner?: string | undefined;
}

const isCrashRecord = record<CrashRecord>({
  crashes: isWhole,
  countedUpTo: isWhole,
  runner: optional(isString),
});

export const freshState: HintState = Object.freeze({ attempts: 0, notBefore: 0 });

/** A hint as it stands in the store. */
export interface StandingHint {
  readonly observer: string;
  readonly bucket: number;
  readonly address: CellAddress;
  /** Row and column of the observed cell; the table is the observer's. */
  readonly row: Uint8Array;
  readonly column: Uint8Array;
  /** Newest commit timestamp. */
  readonly timestamp: number;
  readonly state: HintState;
}

/** The bytes with which all hints of an observer begin. */
export function hintPrefix(observer: string): Buffer {
  return Buffer.from(`${observer}\0`);
}

/** The bytes with which all hints of one bucket begin. */
export function bucketPrefix(prefix: Uint8Array, bucket: number): Buffer {
  return Buffer.concat([prefix, Buffer.of(bucket)]);
}

/** Where the hint of an observer with this prefix stands for a cell. */
export function hintAddress(prefix: Uint8Array, cell: CellAddress): CellAddress {
  const row = Buffer.allocUnsafe(prefix.length + 1 + cell.row.length);
  row.set(prefix);
  row[prefix.length] = bucketOf(cell.row);
  row.set(cell.row, prefix.length + 1);
  return { table: hintTable, row, column: cell.column };
}

/** The bucket of a row: all its cells share one, so that one process works on all of them. */
export function bucketOf(row: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < row.length; index++) hash = Math.imul(hash ^ row[index]!, 0x01000193);
  // The low bits of this hash are weak for short rows.
  return ((hash >>> 16) ^ hash) & (buckets - 1);
}

/** A hint's row taken apart; undefined for what cannot be one. */
export function parseHintRow(
  hintRow: Uint8Array,
): { readonly observer: string; readonly bucket: number; readonly row: Uint8Array } | undefined {
  const end = hintRow.indexOf(0);
  if (end < 1 || end + 1 >= hintRow.length) return undefined;
  return {
    observer: asBuffer(hintRow).toString("latin1", 0, end),
    bucket: hintRow[end + 1]!,
    row: hintRow.subarray(end + 2),
  };
}

/**
 * Takes a hint away that a run at `start` found or left clean: its versions at or below `start`.
 */
export function deleteHint(hint: CellAddress, start: number): RowMutation {
  const { table, row, column } = hint;
  return {
    table,
    row,
    guards: [],
    mutations: [{ type: "delete", column, part: "write", from: 0, to: start + 1 }],
  };
}

/** Writes a state into a hint, if it still stands at `timestamp`. */
export function writeHintState(
  store: RowStore,
  hint: CellAddress,
  timestamp: number,
  state: HintState,
): Promise<MutationAnswer> {
  const { table, row, column } = hint;
  return store.mutate({
    table,
    row,
    guards: [{ type: "present", column, part: "write", at: timestamp }],
    mutations: [putHint(column, timestamp, Buffer.from(JSON.stringify(state)))],
  });
}

/**
 * The crash record of a hint; undefined if there is none, or none that can be read: it is a help
 * and no more.
 */
export async function readCrashRecord(store: RowStore, hint: CellAddress): Promise<CrashRecord | undefined> {
  const { table, row, column } = hint;
  const { cells } = await store.readRow({
    table,
    row,
    columns: [{ exact: column }],
    at: crashRecordTimestamp,
  });
  const write = cells[0]?.write;
  if (write === undefined) return undefined;
  try {
    return decodeJson(decodeWrite(write.value).value ?? noBytes, "A hint's crash record", isCrashRecord);
  } catch {
    return undefined;
  }
}

/**
 * Writes the crash record of a hint that is about to be run. Without a guard: if the hint is gone
 * meanwhile, the run finds the cell clean and deletes the record with it.
 */
export function writeCrashRecord(
  store: RowStore,
  hint: CellAddress,
  crashRecord: CrashRecord,
): Promise<MutationAnswer> {
  return store.mutate(crashRecordMutation(hint, crashRecord, []));
}

/**
 * The run that the crash record tells of has ended here. Nothing is written if the record is gone.
 */
export function clearRunner(
  store: RowStore,
  hint: CellAddress,
  crashRecord: CrashRecord,
): Promise<MutationAnswer> {
  const { column } = hint;
  const isThere = { type: "present", column, part: "write", at: crashRecordTimestamp } as const;
  return store.mutate(crashRecordMutation(hint, crashRecord, [isThere]));
}

function crashRecordMutation(
  { table, row, column }: CellAddress,
  crashRecord: CrashRecord,
  guards: readonly Guard[],
): RowMutation {
  const isEmpty = crashRecord.crashes === 0 && crashRecord.runner === undefined;
  const at = crashRecordTimestamp;
  const mutation: Mutation = isEmpty
    ? { type: "delete", column, part: "write", from: at, to: at + 1 }
    : putHint(column, at, encodeJson(crashRecord));
  return { table, row, guards, mutations: [mutation] };
}

function decodeState(bytes: Uint8Array | undefined): HintState {
  if (bytes === undefined || bytes.length === 0) return freshState;
  try {
    return decodeJson(bytes, "A hint's state", isHintState);
  } catch {
    // A state is a help and no more: a hint whose state cannot be read counts as new.
    return freshState;
  }
}

export interface HintPage {
  readonly hints: readonly StandingHint[];
  /** Where to go on; undefined at the end. */
  readonly next: { readonly row: Uint8Array; readonly column?: Uint8Array | undefined } | undefined;
}

/** Where to read hints: rows from `start` (perhaps at a column) to `end`. */
export interface HintRange {
  readonly start: { readonly row: Uint8Array; readonly column?: Uint8Array | undefined } | undefined;
  readonly end: Uint8Array | undefined;
}

/** The range of all rows that begin with these bytes. */
export function prefixRange(prefix: Uint8Array): HintRange {
  return { start: { row: prefix }, end: prefixEnd(prefix) };
}

/** A page of hints as they stand now, in their order. */
export async function readHints(
  store: RowStore,
  range: HintRange,
  limit: number,
  signal?: AbortSignal,
): Promise<HintPage> {
  const page = await store.readRange(
    {
      table: hintTable,
      start: range.start,
      end: range.end === undefined ? undefined : { row: range.end },
      columns: allColumns,
      at: Number.POSITIVE_INFINITY,
      limit,
    },
    signal === undefined ? undefined : { signal },
  );
  const hints: StandingHint[] = [];
  for (const { row: hintRow, cells } of page.rows) {
    const parsed = parseHintRow(hintRow);
    if (parsed === undefined) continue;
    for (const { column, write } of cells) {
      if (write === undefined) continue;
      hints.push({
        ...parsed,
        address: { table: hintTable, row: hintRow, column },
        column,
        timestamp: write.timestamp,
        state: decodeState(decodeWrite(write.value).value),
      });
    }
  }
  return { hints, next: page.next };
}
