import { decodeAcknowledgment } from "../../observer/index.js";
import { formatValue, parsePath, type TableDefinition } from "../../schema/index.js";
import type { InspectedColumn } from "../../transaction/index.js";

/** Decodes a value of an inspected column. Returns the bytes if they cannot be decoded. */
export function inspectedValue(
  table: TableDefinition,
  { path }: InspectedColumn,
  bytes: Uint8Array,
): unknown {
  const { name } = parsePath(path);
  const codec = table.columns.get(name)?.codec;
  try {
    if (name === "~ack" || name === "~parked") return decodeAcknowledgment(bytes);
    return codec === undefined ? bytes : codec.decode(bytes);
  } catch {
    // An undecodable value may be the very reason why a user inspects the row.
    return bytes;
  }
}

/** The value as text. */
export function inspectedText(table: TableDefinition, column: InspectedColumn, bytes: Uint8Array): string {
  const codec = table.columns.get(parsePath(column.path).name)?.codec;
  return formatValue(codec ?? "json", inspectedValue(table, column, bytes));
}

/** A write record as text, without its value. */
export function writeText({
  kind,
  startTimestamp,
  onePhase,
  loaded,
}: InspectedColumn["writes"][number]): string {
  return `${kind} from ${startTimestamp}${onePhase ? ", one phase" : ""}${loaded ? ", bulk load" : ""}`;
}

/** The status of a transaction as text. */
export function statusText({ status }: InspectedColumn["statuses"][number]): string {
  return status.outcome === "committed" ? `committed at ${status.commit}` : "rolled back";
}
