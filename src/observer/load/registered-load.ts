import { LoadError } from "../../errors/index.js";
import { loadStateCell, overlap, type RowRange } from "../../transaction/index.js";
import {
  decodeProgress,
  encodeLoadDefinition,
  encodeLoadState,
  type LoadProgress,
  type LoadRecord,
  loadDefinitionCell,
  loadOwnerCell,
  loadProgressCell,
} from "../registry/load-record.js";
import type { Registry } from "../registry/registry.js";
import type { LoadReport } from "./options.js";
import type { Ownership } from "./ownership.js";

/** Whether the owner before has published the load since this call read the registry. */
export async function isPublished(registry: Registry, { start, name }: LoadRecord): Promise<boolean> {
  const record = (await registry.reload()).loadRecords.find((each) => each.start === start);
  if (record === undefined) throw new LoadError(`The bulk load "${name}" was discarded. Load again.`);
  if (record.state === "discarding") throw beingDiscarded(name);
  return record.state === "published";
}

export async function reportOfEarlier(registry: Registry, { start }: LoadRecord): Promise<LoadReport> {
  const { rows, cells } = (await readProgress(registry, start)) ?? { rows: 0, cells: 0 };
  return { rows, cells, published: false };
}

export function beingDiscarded(name: string): LoadError {
  return new LoadError(
    `The bulk load "${name}" is being discarded. Call \`db.discardLoad\` to finish that, and then load again.`,
  );
}

export function outOfOrder(name: string): LoadError {
  return new LoadError(
    `Rows of the bulk load "${name}" came out of order, so those that are stored may not be all up to the last one. Call ` +
      "`db.discardLoad`, and load again with sorted rows.",
  );
}

/** Records the load, which closes its ranges, or finds the record of an earlier call. */
export async function begin(
  registry: Registry,
  name: string,
  ranges: readonly RowRange[],
  signal: AbortSignal | undefined,
): Promise<{ readonly record: LoadRecord; readonly isNew: boolean }> {
  const start = await registry.context.oracle.next({ signal });
  let record: LoadRecord | undefined;
  let isNew = false;
  await registry.change(async (tx, view) => {
    record = view.loadRecords.find((each) => each.name === name);
    isNew = record === undefined;
    if (record !== undefined) {
      checkSame(record, ranges);
      return false;
    }
    for (const { record: feed } of view.feedRecords.values()) {
      // A leased feed's readers see from the registry that rows were loaded.
      const followed = feed.columns.find(({ table }) => ranges.some((range) => range.table === table));
      if (followed === undefined) continue;
      throw new LoadError(
        `The bulk load "${name}" loads rows of "${followed.table}", which the feed "${feed.name}" follows: loaded rows are no ` +
          "changes of a transaction, so the feed would miss them. Load before the feed is declared, or remove the feed first " +
          "with `db.removeFeed`.",
      );
    }
    for (const other of view.loadRecords) {
      if (other.state === "published") continue;
      const shared = ranges.find((range) => other.ranges.some((each) => overlap(range, each)));
      if (shared === undefined) continue;
      throw new LoadError(
        `The bulk load "${other.name}" is in progress and has rows of "${shared.table}" in common with "${name}". Finish it, or ` +
          "discard it with `db.discardLoad`.",
      );
    }
    tx.write({ ...loadDefinitionCell(start), value: encodeLoadDefinition(name, ranges) });
    tx.write({ ...loadStateCell(start), value: encodeLoadState("loading") });
    record = { start, name, ranges, state: "loading", publishedAt: undefined };
    return true;
  }, signal);
  return { record: record!, isNew };
}

function checkSame(record: LoadRecord, ranges: readonly RowRange[]): void {
  const { name, state } = record;
  if (state === "discarding") throw beingDiscarded(name);
  const text = encodeLoadDefinition(name, ranges).toString();
  if (encodeLoadDefinition(name, record.ranges).toString() === text) return;
  throw new LoadError(
    `The bulk load "${name}" was begun with other tables or ranges. Give the same parts in the same order, or another name` +
      `${state === "loading" ? ", or discard it with `db.discardLoad`" : ""}.`,
  );
}

/**
 * Removes the record of a load that has no rows. Its ranges are then open again. Rejects if another
 * call has taken the load over, because that call may have stored rows.
 */
export async function forget(registry: Registry, ownership: Ownership): Promise<void> {
  const { start } = ownership;
  await registry.change(async (tx) => {
    await ownership.check(tx);
    tx.write({ ...loadDefinitionCell(start), value: undefined });
    tx.write({ ...loadStateCell(start), value: undefined });
    tx.write({ ...loadProgressCell(start), value: undefined });
    tx.write({ ...loadOwnerCell(start), value: undefined });
    return true;
  });
}

/** How far a load has come. Undefined before its ranges were checked. */
export async function readProgress(registry: Registry, start: number): Promise<LoadProgress | undefined> {
  return registry.retrying(async () => {
    const tx = await registry.systemTransaction("load");
    try {
      const stored = await registry.read(tx, loadProgressCell(start));
      return stored === undefined ? undefined : decodeProgress(stored);
    } finally {
      tx.rollback();
    }
  });
}
