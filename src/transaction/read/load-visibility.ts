import { currentTimestamp } from "../../oracle/index.js";
import { equalBytes } from "../../store/index.js";
import { loadStateCell, publishedState } from "../cell/known-loads.js";
import type { TransactionContext } from "../context.js";
import type { ReaderOptions } from "./reader-options.js";
import { RowSettler } from "./settle.js";

/**
 * Whether the cells of a bulk load are visible at a timestamp: whether the load was published at or
 * below it. The answer comes from the load's state, read at the same timestamp. It is therefore as
 * consistent as any other read.
 *
 * A read of a previous value (`exempt`) is below the publication, but it belongs to a run that saw
 * the published cell. It sees every published load.
 */
export async function isLoadVisible(
  context: TransactionContext,
  start: number,
  timestamp: number,
  { exempt, signal }: ReaderOptions,
): Promise<boolean> {
  if (exempt === true) return (await publicationOf(context, start)) !== undefined;
  const { loads, store } = context;
  const { table, row, column } = loadStateCell(start);
  const columns = [{ exact: column }];
  const request = signal === undefined ? undefined : { signal };
  const page = await store.readRow({ table, row, columns, at: timestamp }, request);
  const settler = new RowSettler(context, timestamp, { signal }, request);
  const [state] = await settler.row(table, row, columns, page);
  const value = state?.value;
  if (state === undefined || value === undefined || !equalBytes(value, publishedState)) return false;
  loads.add(start, state.commit);
  return true;
}

/** The timestamp at which a bulk load was published. Undefined if it is not. */
export async function publicationOf(
  context: TransactionContext,
  start: number,
): Promise<number | undefined> {
  const known = context.loads.publishedAt(start);
  if (known !== undefined) return known;
  await isLoadVisible(context, start, await currentTimestamp(context), {});
  return context.loads.publishedAt(start);
}
