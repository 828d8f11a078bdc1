import { decodeAcknowledgment } from "../../observer/index.js";
import { formatValue, parsePath, type TableDefinition } from "../../schema/index.js";
import type { InspectedColumn } from "../../transaction/index.js";

/** A value of a column that was inspected, decoded; the bytes where that cannot be. */
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
    // What cannot be decoded is what somebody inspects a row for.
    return bytes;
  }
}

/** The same for people. */
export function inspectedText(table: TableDefinition, column: InspectedColumn, bytes: Uint8Array): string {
  const codec = table.columns.get(parsePath(column.path).name)?.codec;
  return formatValue(codec ?? "json", inspectedValue(table, column, bytes));
}

/** What a write record says besides the value. */
export function writeText({ kind, startTimestamp, onePhase }: InspectedColumn["writes"][number]): string {
  return `${kind} from ${startTimestamp}${onePhase ? ", one phase" : ""}`;
}

/** What the status of a transaction says. */
export function statusText({ status }: InspectedColumn["statuses"][number]): string {
  return status.outcome === "committed" ? `committed at ${status.commit}` : "rolled back";
}
