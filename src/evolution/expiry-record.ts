import { decodeJson, encodeJson, isAmount, isString, isWhole, nullable, record } from "../observer/index.js";
import { systemCell } from "../transaction/index.js";

/** When a table was last swept for expired cells, who does it now, and when it is due again. */
export interface ExpiryRecord {
  /** The times of the columns, as JSON. If they have changed, the table is due at once. */
  readonly edition: string;
  /** The sweep that runs. Other processes leave the table to it until `claimedUntil`. */
  readonly claim: string | null;
  /** Wall time in milliseconds. */
  readonly claimedUntil: number;
  /** Wall time in milliseconds from which the next sweep is due. */
  readonly dueAt: number;
  /** Wall time in milliseconds at which the last complete sweep began. `null` before the first. */
  readonly sweptAt: number | null;
  /** Cells that the last complete sweep deleted. */
  readonly expired: number;
}

const isExpiryRecord = record<ExpiryRecord>({
  edition: isString,
  claim: nullable(isString),
  claimedUntil: isAmount,
  dueAt: isAmount,
  sweptAt: nullable(isAmount),
  expired: isWhole,
});

/** The cell that has the record of a table. */
export function expiryCell(table: string) {
  return systemCell(`expiry/${table}`, "state");
}

export function encodeExpiry(expiry: ExpiryRecord): Buffer {
  return encodeJson(expiry);
}

export function decodeExpiry(bytes: Uint8Array): ExpiryRecord {
  return decodeJson(bytes, "The record of a table's expiry", isExpiryRecord);
}
