import { backoffDelay, sleep } from "../../environment/index.js";
import { LoadError } from "../../errors/index.js";
import { allColumns, type RawRow } from "../../store/index.js";
import {
  type RowRange,
  SnapshotReader,
  type TransactionContext,
  walkCells,
} from "../../transaction/index.js";
import type { RegistryView } from "../registry/view.js";
import type { LoadWriter } from "./load-writer.js";

/** How often a load tries to clear away locks that stand in its ranges. */
const maxLocks = 100;
const clearing = { initialMs: 5, maximumMs: 500 };

const parts = ["lock", "write", "data", "txn"] as const;

/**
 * Checks that the store has no record at all in the ranges of a load: no value, no delete marker and
 * no lock. The ranges are closed already, so none can be committed there from now on. Resolves the
 * locks that it meets, which pushes their transactions above `at`: such a transaction then sees that
 * the range is closed.
 */
export async function checkEmpty(
  context: TransactionContext,
  view: RegistryView,
  name: string,
  ranges: readonly RowRange[],
  at: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const range of ranges) {
    for (let attempt = 1; ; attempt++) {
      const found = await firstRecord(context, range, signal);
      if (found === undefined) break;
      const isLocked = found.cells.some(({ versions }) => versions.some(({ part }) => part === "lock"));
      if (!isLocked || attempt === maxLocks) throw notEmpty(view, name, range, found, isLocked);
      const start = range.start === undefined ? undefined : { row: range.start };
      const end = range.end === undefined ? undefined : { row: range.end };
      const reader = new SnapshotReader(context, at, { signal });
      await reader.range({ table: range.table, start, end, columns: allColumns, limit: 1 });
      await sleep(
        context.environment,
        backoffDelay(context.environment, clearing, attempt),
        signal,
        "A bulk load",
      );
    }
  }
}

async function firstRecord(
  { store }: TransactionContext,
  { table, start, end }: RowRange,
  signal: AbortSignal | undefined,
): Promise<RawRow | undefined> {
  let from = start === undefined ? undefined : { row: start };
  const to = end === undefined ? undefined : { row: end };
  for (;;) {
    const read = { table, start: from, end: to, columns: allColumns, parts, versions: 1, limit: 1 };
    const page = await store.readRaw(read, signal === undefined ? undefined : { signal });
    const found = page.rows.find(({ cells }) => cells.length > 0);
    if (found !== undefined || page.next === undefined) return found;
    from = page.next as { row: Uint8Array };
  }
}

function notEmpty(
  view: RegistryView,
  name: string,
  { table }: RowRange,
  { row, cells }: RawRow,
  isLocked: boolean,
): LoadError {
  const place = `row ${JSON.stringify(view.showRow(table, row))} of "${table}"`;
  const isOld = cells.every(({ versions }) => versions.every(({ part }) => part !== "write"));
  const reason = isLocked
    ? `a transaction that has not ended holds a lock on ${place}. Try again when it has ended`
    : isOld
      ? `${place} has records of a transaction that was rolled back. \`db.collect\` removes them once the retention has passed`
      : `${place} has stored values or deletions. Load into a new table or another range, or delete the rows and call ` +
        "`db.collect` once the retention has passed";
  return new LoadError(`The bulk load "${name}" needs empty ranges, but ${reason}. Nothing was loaded.`);
}

/** Deletes the cells of a load in a range, after a row if one is given. */
export async function removeLoaded(
  context: TransactionContext,
  writer: LoadWriter,
  range: RowRange,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { store, environment } = context;
  const { table, start, end } = range;
  const walk = walkCells(store, environment, table, { parts: ["write", "data"], start, end, signal });
  for await (const cells of walk) await writer.remove(table, cells, signal);
}
