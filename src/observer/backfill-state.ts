import { StoreDamagedError } from "../errors/index.js";

/** A backfill as the registry records it, so that it goes on where it was after whatever happened. */
export interface BackfillState {
  /** First row, inclusive; undefined for the table's first. */
  readonly start: Buffer | undefined;
  /** Row after the last; undefined for none. */
  readonly end: Buffer | undefined;
  /** The row to go on with; undefined before the first. */
  readonly cursor: Buffer | undefined;
  /** The column of that row to go on with, where a wide row was left in its middle. */
  readonly column: Buffer | undefined;
  /** Version of the observer for which it was begun. */
  readonly version: number;
  /** Cells marked so far. */
  readonly marked: number;
}

const noRow = null;

export function encodeBackfill(state: BackfillState): Buffer {
  const { start, end, cursor, column, version, marked } = state;
  const hex = (bytes: Buffer | undefined) => bytes?.toString("hex") ?? noRow;
  return Buffer.from(
    JSON.stringify({
      start: hex(start),
      end: hex(end),
      cursor: hex(cursor),
      column: hex(column),
      version,
      marked,
    }),
  );
}

export function decodeBackfill(bytes: Uint8Array): BackfillState {
  try {
    const read = JSON.parse(Buffer.from(bytes).toString("utf8")) as {
      readonly [name in keyof BackfillState]?: unknown;
    };
    const buffer = (hex: unknown) => (typeof hex === "string" ? Buffer.from(hex, "hex") : undefined);
    return {
      start: buffer(read.start),
      end: buffer(read.end),
      cursor: buffer(read.cursor),
      column: buffer(read.column),
      version: Number(read.version),
      marked: Number(read.marked),
    };
  } catch (cause) {
    throw new StoreDamagedError("The record of a backfill in the store cannot be read; run `check`.", {
      cause,
    });
  }
}
