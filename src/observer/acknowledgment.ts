import { StoreDamagedError } from "../errors/index.js";
import { asBuffer, readTimestamp, writeTimestamp } from "../transaction/index.js";

/*
 * An acknowledgment stands in the observed cell's row, in a column of its own for each observer and cell; so does the
 * record of a change that was given up on. Both say up to where the observer has dealt with the cell.
 */

/** What an observer has recorded of a cell. */
export interface Acknowledgment {
  /** Start timestamp of the run: every change of the cell at or below it is dealt with. */
  readonly start: number;
  /** Version of the observer that ran. */
  readonly version: number;
  /** How many runs before it, in a row, were due to nothing but what the run before them wrote. */
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

export function encodeAcknowledgment(acknowledgment: Acknowledgment): Buffer {
  const bytes = Buffer.allocUnsafe(acknowledgmentBytes);
  writeTimestamp(bytes, acknowledgment.start, 0);
  bytes.writeUInt32BE(acknowledgment.version, 8);
  bytes.writeUInt32BE(acknowledgment.chain, 12);
  return bytes;
}

export function decodeAcknowledgment(value: Uint8Array): Acknowledgment {
  const bytes = asBuffer(value);
  if (bytes.length < acknowledgmentBytes) {
    throw new StoreDamagedError("An observer's acknowledgment in the store cannot be read; run `check`.");
  }
  return {
    start: readTimestamp(bytes, 0),
    version: bytes.readUInt32BE(8),
    chain: bytes.readUInt32BE(12),
  };
}
