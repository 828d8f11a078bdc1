import type { Environment } from "../../environment/index.js";
import { StoreDamagedError } from "../../errors/index.js";
import type { RowStore } from "../../store/index.js";
import { decodeWrite, encodeWrite, systemCell } from "../../transaction/index.js";

const { table, row, column } = systemCell("retention", "ms");
const columns = [{ exact: column }];

/**
 * Reads the retention that the database has recorded, in milliseconds. All processes of a database
 * share it. `given` is the caller's option. Throws if the record cannot be read and `given` is
 * undefined.
 */
export async function readRetention(store: RowStore, given: number | undefined): Promise<number | undefined> {
  const page = store.readRow({ table, row, columns, at: Number.POSITIVE_INFINITY });
  const { cells } = page instanceof Promise ? await page : page;
  const stored = cells[0]?.write === undefined ? undefined : decodeWrite(cells[0].write.value).value;
  const recorded = stored === undefined ? undefined : decodeRetention(stored);
  if (given === undefined && Number.isNaN(recorded)) {
    throw new StoreDamagedError(
      "The recorded retention of the database cannot be read. Open the database with `retentionMs`, which records it again.",
    );
  }
  return recorded;
}

/** Records the caller's retention if it differs from the recorded one. */
export async function recordRetention(
  store: RowStore,
  environment: Environment,
  given: number | undefined,
  recorded: number | undefined,
): Promise<void> {
  if (given === undefined || given === recorded) return;
  const value = encodeWrite({ start: 0, kind: "put", onePhase: true, value: Buffer.from(String(given)) });
  await store.mutate({
    table,
    row,
    guards: [],
    mutations: [
      { type: "delete", column, part: "write", from: 0, to: Number.POSITIVE_INFINITY },
      { type: "put", column, part: "write", timestamp: Math.floor(environment.now() * 1_000), value },
    ],
  });
}

/** Returns NaN if the bytes are not a number. */
function decodeRetention(bytes: Uint8Array): number {
  const text = Buffer.from(bytes).toString("latin1");
  const retentionMs = /^\d+(\.\d+)?(e[+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(retentionMs) ? retentionMs : Number.NaN;
}
