import { StoreDamagedError } from "../../errors/index.js";
import { asBuffer, writeTimestamp } from "../../store/index.js";
import { checkedTimestamp } from "../../transaction/index.js";

/*
 * An acknowledgment stands in the observed cell's row, in a column of its own for each observer and
 * cell; so does the record of a change that was given up on. Both say up to where the observer has
 * dealt with the cell.
 */

/** What an observer has recorded of a cell. */
export interface Acknowledgment {
  /** Start timestamp of the run: every change of the cell at or below it is dealt with. */
  readonly start: number;
  /** Version of the observer that ran. */
  readonly version: number;
  /**
   * How many runs before it, in a row, were due to nothing but what the run before them wrote. Of
   * what was given up on: how many processes ended while they ran it, or 0 if it failed.
   */
  readonly chain: number;
}

const acknowledgmentBytes = 16;

/** The bytes before a cell's path in the column of an observer's acknowledgment. */
export function acknowledgmentPrefix(observer: string): Buffer {
  return Buffer.from(`~ack\0${observer}\0`);
}

/** The bytes before a cell's path in the column of an observer's parked record. */
export function parkedPrefix(observer: string): Buffer {
  return Buffer.from(`~parked\0${observer}\0`);
}

/** A column in which an observer's record of a cell stands. */
export interface RecordColumn {
  readonly kind: "acknowledgment" | "parked";
  readonly observer: string;
  /** The observed cell's column, in the same row. */
  readonly column: Uint8Array;
}

/** What a column records; undefined for one that is no observer's record. */
export function parseRecordColumn(column: Uint8Array): RecordColumn | undefined {
  const bytes = asBuffer(column);
  const kindEnd = bytes.indexOf(0);
  const observerEnd = kindEnd < 0 ? -1 : bytes.indexOf(0, kindEnd + 1);
  if (observerEnd < 0) return undefined;
  const kind = bytes.toString("latin1", 0, kindEnd);
  if (kind !== "~ack" && kind !== "~parked") return undefined;
  return {
    kind: kind === "~ack" ? "acknowledgment" : "parked",
    observer: bytes.toString("latin1", kindEnd + 1, observerEnd),
    column: bytes.subarray(observerEnd + 1),
  };
}

export function encodeAcknowledgment(acknowledgment: Acknowledgment): Buffer {
  const bytes = Buffer.allocUnsafe(acknowledgmentBytes);
  writeTimestamp(bytes, 0, acknowledgment.start);
  bytes.writeUInt32BE(acknowledgment.version, 8);
  bytes.writeUInt32BE(acknowledgment.chain, 12);
  return bytes;
}

export function decodeAcknowledgment(value: Uint8Array): Acknowledgment {
  const bytes = asBuffer(value);
  if (bytes.length !== acknowledgmentBytes) {
    throw new StoreDamagedError("An observer's acknowledgment in the store cannot be read; run `check`.");
  }
  return {
    start: checkedTimestamp(bytes, 0, "observer's acknowledgment"),
    version: bytes.readUInt32BE(8),
    chain: bytes.readUInt32BE(12),
  };
}
