import { compareBytes } from "../../bytes.js";
import { type RepeatOptions, repeated } from "../wire/repeat.js";
import { sampleRowKeys } from "../wire/rpc.js";
import { storeError } from "../wire/status.js";
import type { CallOptions, Transport } from "../wire/transport.js";
import { decodeRow } from "./names.js";
import type { KnownTable } from "./tables.js";

/** Rows at which Bigtable would split the table, at most `most` of them. */
export async function readSplitPoints(
  transport: Transport,
  table: KnownTable,
  { profile, ...repeating }: RepeatOptions & { readonly profile: string },
  most: number,
): Promise<readonly Uint8Array[]> {
  const request = { tableName: table.path, appProfileId: profile };
  const ask = async (call: Omit<CallOptions, "signal">) => {
    const points: Uint8Array[] = [];
    await transport.stream(sampleRowKeys, request, call, ({ rowKey }) => {
      // The last key is empty, and stands for the end of the table.
      if (rowKey === undefined || rowKey.length === 0) return true;
      const row = decodeRow(rowKey);
      const last = points.at(-1);
      if (row.length > 0 && (last === undefined || compareBytes(last, row) < 0)) points.push(row);
      return true;
    });
    return points;
  };
  let points: readonly Uint8Array[];
  try {
    points = await repeated(repeating, table.metadata, ask);
  } catch (error) {
    throw storeError(error, `divide table ${JSON.stringify(table.name)}`);
  }
  if (points.length <= most) return points;
  return Array.from({ length: most }, (_, i) => points[Math.floor(((i + 1) * points.length) / (most + 1))]!);
}
