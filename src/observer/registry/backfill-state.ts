import { sha256 } from "../../environment/index.js";
import { decodeJson, encodeJson, isHex, isWhole, nullable, record } from "../stored-json.js";

/**
 * The registry's record of a backfill of one range. With it, a backfill continues after any
 * interruption. Each range of an observer has its own record.
 */
export interface BackfillState {
  /** Identifies the backfill among those of its observer. Derived from its range and version. */
  readonly id: string;
  /** First row, inclusive. Undefined for the table's first. */
  readonly start: Buffer | undefined;
  /** End of the range, exclusive. Undefined for the table's end. */
  readonly end: Buffer | undefined;
  /** The row with which to continue. Undefined before the first batch. */
  readonly cursor: Buffer | undefined;
  /** The column of that row with which to continue, if the last batch ended inside a wide row. */
  readonly column: Buffer | undefined;
  /** Version of the observer for which the backfill began. */
  readonly version: number;
  /** Cells marked so far. */
  readonly marked: number;
}

/** The state in JSON, with bytes in hexadecimal. */
interface StoredState {
  readonly start: string | null;
  readonly end: string | null;
  readonly cursor: string | null;
  readonly column: string | null;
  readonly version: number;
  readonly marked: number;
}

const isPlace = nullable(isHex);
const isStoredState = record<StoredState>({
  start: isPlace,
  end: isPlace,
  cursor: isPlace,
  column: isPlace,
  version: isWhole,
  marked: isWhole,
});

export function encodeBackfill(state: BackfillState): Buffer {
  const { start, end, cursor, column, version, marked } = state;
  const hex = (bytes: Buffer | undefined) => bytes?.toString("hex") ?? null;
  const stored: StoredState = {
    start: hex(start),
    end: hex(end),
    cursor: hex(cursor),
    column: hex(column),
    version,
    marked,
  };
  return encodeJson(stored);
}

/** The id of a backfill. Two backfills of the same range and version have the same id. */
export function backfillId({ start, end, version }: Omit<BackfillState, "id">): string {
  const range = JSON.stringify([start?.toString("hex") ?? null, end?.toString("hex") ?? null, version]);
  return sha256(range).slice(0, 32);
}

export function decodeBackfill(bytes: Uint8Array, id: string): BackfillState {
  const read = decodeJson(bytes, "The record of a backfill in the store", isStoredState);
  const buffer = (hex: string | null) => (hex === null ? undefined : Buffer.from(hex, "hex"));
  const { version, marked } = read;
  return {
    id,
    start: buffer(read.start),
    end: buffer(read.end),
    cursor: buffer(read.cursor),
    column: buffer(read.column),
    version,
    marked,
  };
}
