import { StoreError } from "../../errors/index.js";
import { allColumns, type Position, pages, type RowStore } from "../../store/index.js";
import { putHint, systemCell, systemTable } from "../../transaction/index.js";

const rowPrefix = "suspect/";
const column = Buffer.from("upTo");

/**
 * Records that a process that ran these observers ended uncleanly. Each hint at or below `upTo`
 * then counts an attempt before it runs. The guard refuses an older `upTo` than the recorded one.
 *
 * @throws StoreError if the store does not say whether it has recorded that.
 */
export async function suspect(store: RowStore, observers: readonly string[], upTo: number): Promise<void> {
  for (const observer of observers) {
    const { table, row } = systemCell(`${rowPrefix}${observer}`, "upTo");
    const answer = await store.mutate({
      table,
      row,
      guards: [{ type: "absent", column, part: "write", from: upTo, to: Number.POSITIVE_INFINITY }],
      mutations: [{ type: "delete", column, part: "write", from: 0, to: upTo }, putHint(column, upTo)],
    });
    if (answer !== "unknown") continue;
    const message = `The store did not answer when the hints of observer "${observer}" became suspect. Try again.`;
    throw new StoreError(message, { retryable: true });
  }
}

/** For each observer, the timestamp up to which its hints are suspect. */
export async function readCrashSuspects(store: RowStore): Promise<ReadonlyMap<string, number>> {
  const suspects = new Map<string, number>();
  const end = { row: Buffer.from("suspect0") };
  const read = (start?: Position) =>
    store.readRange({ table: systemTable, start, end, columns: allColumns, at: Number.POSITIVE_INFINITY });
  for await (const page of pages(read, { row: Buffer.from(rowPrefix) })) {
    for (const { row, cells } of page.rows) {
      const observer = Buffer.from(row).toString("utf8").slice(rowPrefix.length);
      suspects.set(observer, cells[0]?.write?.timestamp ?? 0);
    }
  }
  return suspects;
}

/** Deletes the record of an observer that is unregistered. */
export async function clearCrashSuspect(store: RowStore, observer: string): Promise<void> {
  const { table, row } = systemCell(`${rowPrefix}${observer}`, "upTo");
  await store.mutate({
    table,
    row,
    guards: [],
    mutations: [{ type: "delete", column, part: "write", from: 0, to: Number.POSITIVE_INFINITY }],
  });
}
