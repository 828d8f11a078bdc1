import { checkArgument, LoadError } from "../../errors/index.js";
import { loadStateCell } from "../../transaction/index.js";
import { encodeLoadState, type LoadRecord } from "../registry/load-record.js";
import type { Registry } from "../registry/registry.js";
import type { RegistryView } from "../registry/view.js";
import { removeLoaded } from "./load-ranges.js";
import { LoadWriter } from "./load-writer.js";
import type { DiscardLoadOptions, LoadInfo } from "./options.js";
import { Ownership } from "./ownership.js";
import { forget, readProgress } from "./registered-load.js";

/** The bulk loads in the registry, in the order in which they began. */
export async function listLoads(registry: Registry): Promise<readonly LoadInfo[]> {
  const { loadRecords } = await registry.reload();
  return Promise.all(
    loadRecords.map(async ({ start, name, ranges, state, publishedAt }) => {
      const { rows, cells } = (await readProgress(registry, start)) ?? { rows: 0, cells: 0 };
      const tables = [...new Set(ranges.map(({ table }) => table))];
      return { name, state, tables, rows, cells, publishedAt };
    }),
  );
}

/**
 * Removes what an unfinished load has stored, and opens its ranges again. If the call is
 * interrupted, another call continues.
 */
export async function discardLoad(
  registry: Registry,
  name: string,
  { signal }: DiscardLoadOptions,
): Promise<void> {
  checkArgument("db.discardLoad", "the name of a bulk load", name, typeof name === "string");
  const record = mayDiscard(await registry.reload(), name);
  const ownership = new Ownership(registry, record.start, name);
  await ownership.take(signal);
  try {
    const progress = await readProgress(registry, record.start);
    await registry.change(async (tx, view) => {
      await ownership.check(tx);
      // The owner before may have published the load since this call read the registry.
      mayDiscard(view, name);
      tx.write({ ...loadStateCell(record.start), value: encodeLoadState("discarding") });
      return true;
    }, signal);
    if (progress !== undefined) {
      const { store, environment } = registry.context;
      const writer = new LoadWriter(store, environment, record.start, progress.at, ownership.at);
      for (const range of record.ranges) await removeLoaded(registry.context, writer, range, signal);
    }
    await forget(registry, ownership);
  } catch (error) {
    await ownership.release().catch(() => {});
    throw error;
  }
}

/** The record of a load. Throws if it cannot be discarded. */
function mayDiscard(view: RegistryView, name: string): LoadRecord {
  const record = view.loadRecords.find((each) => each.name === name);
  if (record === undefined)
    throw new LoadError(`There is no bulk load "${name}". \`db.loads()\` lists them.`);
  if (record.state !== "published") return record;
  throw new LoadError(
    `The bulk load "${name}" is published, so its rows are ordinary rows by now. Delete them in transactions.`,
  );
}
