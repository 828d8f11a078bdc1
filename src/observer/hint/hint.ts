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
import {
  decodeJson,
  encodeJson,
  isBoolean,
  isString,
  isTime,
  isWhole,
  optional,
  record,
} from "../stored-json.js";

/*
 * A hint's row is the observer's name, NUL, a byte for the bucket, and the cell's row. Its column
 * is the cell's path. All hints of an observer therefore form one range, and so do the hints of
 * each bucket. The hint does not name the table, since an observer watches only one table.
 */

const noBytes = new Uint8Array(0);

/**
 * The number of buckets over which the hints of an observer spread. The processes divide the
 * buckets among themselves.
 */
export const buckets = 64;

/** The error of a hint whose runs have not failed, and that was due when a process ended. */
export const crashNote = "The process ended while this change was due.";

/**
 * The state of a hint. It changes only if a run of the hint fails, takes long, or ends with its
 * process.
 */
export interface HintState {
  /** Attempts that failed, or that began and never ended. */
  readonly attempts: number;
  /** Wall time, in milliseconds, before which the hint must not run. */
  readonly notBefore: number;
  /** The last failure in one line. */
  readonly error?: string | undefined;
  /** How many of the attempts were counted because a process ended while the change was due. */
  readonly crashes?: number | undefined;
  /** Timestamp up to which crashes are counted in `crashes`. */
  readonly countedUpTo?: number | undefined;
  /** The session that has been running the hint for a long time, if there is one. */
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

/**
 * The crash record of a hint. A new version of the hint does not replace it: see
 * {@link crashRecordTimestamp}.
 */
export interface CrashRecord {
  /** How many processes ended during a run of the observer on the cell. */
  readonly crashes: number;
  /** Timestamp up to which crashes are counted. */
  readonly countedUpTo: number;
  /** The session that runs the hint now. */
  readonly runner?: string | undefined;
  /** Whether no other hint that may have ended a process runs in that session meanwhile. */
  readonly alone?: boolean | undefined;
}

const isCrashRecord = record<CrashRecord>({
  crashes: isWhole,
  countedUpTo: isWhole,
  runner: optional(isString),
  alone: optional(isBoolean),
});

export const freshState: HintState = Object.freeze({ attempts: 0, notBefore: 0 });

/** A hint in the store. */
export interface StandingHint {
  readonly observer: string;
  readonly bucket: number;
  readonly address: CellAddress;
  /** Row and column of the observed cell. The observer names the table. */
  readonly row: Uint8Array;
  readonly column: Uint8Array;
  /** The hint's newest commit timestamp. */
  readonly timestamp: number;
  readonly state: HintState;
}

/** The bytes with which all hints of an observer begin. */
export function hintPrefix(observer: string): Buffer {
  return Buffer.from(`${observer}\0`);
}

/** The bytes with which all hints of one bucket begin. `prefix` is that of the observer. */
export function bucketPrefix(prefix: Uint8Array, bucket: number): Buffer {
  return Buffer.concat([prefix, Buffer.of(bucket)]);
}

/** The address of an observer's hint for a cell. `prefix` is that of the observer. */
export function hintAddress(prefix: Uint8Array, cell: CellAddress): CellAddress {
  const row = Buffer.allocUnsafe(prefix.length + 1 + cell.row.length);
  row.set(prefix);
  row[prefix.length] = bucketOf(cell.row);
  row.set(cell.row, prefix.length + 1);
  return { table: hintTable, row, column: cell.column };
}

/**
 * The bucket of a row. All cells of a row have the same bucket, so that one process works on all of
 * them.
 */
export function bucketOf(row: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < row.length; index++) hash = Math.imul(hash ^ row[index]!, 0x01000193);
  // The low bits of this hash are weak for short rows, so this mixes in the high bits.
  return ((hash >>> 16) ^ hash) & (buckets - 1);
}

/** Splits a hint's row. Undefined if it is not a hint's row. */
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
 * Deletes a hint's versions at or below `start`, after a run at `start` has handled the cell or
 * found that it is not due.
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

/** Writes a state into a hint, if its newest version is still `timestamp`. */
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
 * The crash record of a hint. Undefined if there is none, or if it cannot be read: work can
 * continue without it.
 */
export async function readCrashRecord(store: RowStore, hint: CellAddress): Promise<CrashRecord | undefined> {
  const { table, row, column } = hint;
  // A page that comes at once may be lent, and must not be awaited.
  const answer = store.readRow({ table, row, columns: [{ exact: column }], at: crashRecordTimestamp });
  const { cells } = answer instanceof Promise ? await answer : answer;
  const write = cells[0]?.write;
  if (write === undefined) return undefined;
  try {
    return decodeJson(decodeWrite(write.value).value ?? noBytes, "A hint's crash record", isCrashRecord);
  } catch {
    return undefined;
  }
}

/**
 * Writes the crash record of a hint before a run. The write has no guard. If the hint is deleted in
 * the meantime, the run finds that the cell is not due, and deletes the record with the hint.
 */
export function writeCrashRecord(
  store: RowStore,
  hint: CellAddress,
  crashRecord: CrashRecord,
): Promise<MutationAnswer> {
  return store.mutate(crashRecordMutation(hint, crashRecord, []));
}

/**
 * Removes this session from the crash record, after its run has ended. Writes nothing if the record
 * is gone.
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
    // A hint whose state cannot be read counts as new: work can continue without the state.
    return freshState;
  }
}

export interface HintPage {
  readonly hints: readonly StandingHint[];
  /** The position with which to continue. Undefined at the end. */
  readonly next: { readonly row: Uint8Array; readonly column?: Uint8Array | undefined } | undefined;
}

/**
 * A range of hint rows. `start` is inclusive, and may name a column of its row to begin with. `end`
 * is exclusive.
 */
export interface HintRange {
  readonly start: { readonly row: Uint8Array; readonly column?: Uint8Array | undefined } | undefined;
  readonly end: Uint8Array | undefined;
}

/** The range of all rows that begin with these bytes. */
export function prefixRange(prefix: Uint8Array): HintRange {
  return { start: { row: prefix }, end: prefixEnd(prefix) };
}

/** A page of the current hints, in order. */
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
