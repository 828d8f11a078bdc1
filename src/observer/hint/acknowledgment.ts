import { StoreDamagedError } from "../../errors/index.js";
import { asBuffer, writeTimestamp } from "../../store/index.js";
import { checkedTimestamp } from "../../transaction/index.js";

/*
 * An acknowledgment is in the observed cell's row, in a separate column for each observer and cell.
 * The parked record of a change is stored in the same way. Both hold the timestamp up to which the
 * observer has dealt with the cell.
 */

/** What an observer has recorded about a cell. */
export interface Acknowledgment {
  /** Start timestamp of the run. The observer has dealt with every change of the cell up to it. */
  readonly start: number;
  /** Version of the observer that ran. */
  readonly version: number;
  /**
   * In an acknowledgment: how many consecutive runs, ending with this one, were due only because of
   * the previous run's own write. In a parked record: how many processes ended during a run, or 0
   * if the runs failed.
   */
  readonly chain: number;
}

const acknowledgmentBytes = 16;

/** The column of an observer's acknowledgment is this prefix and the cell's path. */
export function acknowledgmentPrefix(observer: string): Buffer {
  return Buffer.from(`~ack\0${observer}\0`);
}

/** The column of an observer's parked record is this prefix and the cell's path. */
export function parkedPrefix(observer: string): Buffer {
  return Buffer.from(`~parked\0${observer}\0`);
}

/** The column of an observer's record about a cell. */
export interface RecordColumn {
  readonly kind: "acknowledgment" | "parked";
  readonly observer: string;
  /** The observed cell's column, in the same row. */
  readonly column: Uint8Array;
}

/** Parses the column of an observer's record. Undefined for any other column. */
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
    throw new StoreDamagedError(
      "An observer's acknowledgment in the store cannot be read. Run `percolator check`.",
    );
  }
  return {
    start: checkedTimestamp(bytes, 0, "observer's acknowledgment"),
    version: bytes.readUInt32BE(8),
    chain: bytes.readUInt32BE(12),
  };
}
