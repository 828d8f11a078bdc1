import { throwIfAborted } from "../../environment/index.js";
import { ObserverError } from "../../errors/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { describeValue, prefixEnd } from "../../schema/index.js";
import { allColumns, type ColumnRange, type Position, pages } from "../../store/index.js";
import { type CommittedRow, CoreTransaction, type TransactionContext } from "../../transaction/index.js";
import { acknowledgmentPrefix, decodeAcknowledgment, parkedPrefix } from "../hint/acknowledgment.js";
import { deleteHint, hintPrefix, prefixRange, readHints } from "../hint/hint.js";
import { decodeParkedEntry, parkedTable } from "../hint/parked-entry.js";
import { clearCrashSuspect } from "../session/crash-suspects.js";
import { encodeJson } from "../stored-json.js";
import { backfillCell, forgottenCell, observerCell, type StoredForgotten, versionCell } from "./cells.js";
import type { Registry } from "./registry.js";

/** The options of `db.unregister`. All are optional. */
export interface UnregisterOptions {
  /**
   * Stops when it is aborted: before the observer is unregistered, or between two batches of its records. In
   * the second case the observer stays unregistered, and another call continues.
   */
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of records removed so far. */
  readonly onProgress?: ((progress: { readonly removed: number }) => void) | undefined;
}

const pageRecords = 256;

/**
 * Unregisters an observer. It first removes the observer from the registry, so that commits leave
 * no more hints for it. Then it removes the observer's hints, acknowledgments and parked changes.
 * If a crash interrupts the call, another call continues.
 *
 * A new observer may be registered under the same name immediately. Records of the old observer do
 * not count for the new one. Calls `onUnregistered` when the observer is no longer registered.
 */
export async function unregister(
  registry: Registry,
  name: string,
  options: UnregisterOptions = {},
  onUnregistered?: () => void,
): Promise<void> {
  let removed = 0;
  for (let isEarlier = true; isEarlier; ) {
    const taken = await takeOut(registry, name, options.signal);
    isEarlier = taken.isEarlier;
    if (!isEarlier) onUnregistered?.();
    removed = await removeAll(registry, name, taken.forgotten, options, removed);
  }
}

async function removeAll(
  registry: Registry,
  name: string,
  forgotten: StoredForgotten,
  options: UnregisterOptions,
  removedBefore: number,
): Promise<number> {
  const removal = new Removal(registry, name, forgotten, options);
  removal.removed = removedBefore;
  await removal.removeHints();
  await removal.removeEntries();
  await removal.removeRecords();
  await clearCrashSuspect(registry.context.store, name);
  await registry.change(async (tx, view) => {
    // If the timestamps differ, another call has unregistered a newer observer of this name. That
    // call removes the remaining records.
    if (view.forgotten.get(name)?.upTo !== forgotten.upTo) return false;
    tx.write({ ...forgottenCell(name), value: undefined });
    return true;
  });
  return removal.removed;
}

/**
 * Removes the observer from the registry, or returns the state of an earlier, unfinished call. `isEarlier` says
 * that the observer is registered again, for another table. Its own state would replace the earlier one, so
 * the records in the earlier table go first.
 */
async function takeOut(
  registry: Registry,
  name: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly forgotten: StoredForgotten; readonly isEarlier: boolean }> {
  let forgotten: StoredForgotten | undefined;
  let isEarlier = false;
  await registry.change(async (tx, view) => {
    const registered = view.observers.get(name);
    forgotten = view.forgotten.get(name);
    isEarlier =
      registered !== undefined && forgotten !== undefined && forgotten.table !== registered.record.table;
    if (isEarlier) return false;
    if (registered === undefined) {
      if (forgotten !== undefined) return false;
      throw new ObserverError(
        `No observer named ${describeValue(name)} is registered in this database. Registered: ` +
          `${[...view.observers.keys()].join(", ") || "none"}.`,
      );
    }
    const { table, column, kind, backfills } = registered.record;
    forgotten = { table, column, kind, upTo: tx.startTimestamp };
    tx.write({ ...forgottenCell(name), value: encodeJson(forgotten) });
    const begun = backfills.map(({ id }) => backfillCell(name, id));
    for (const cell of [observerCell(name), versionCell(name), ...begun]) {
      tx.write({ ...cell, value: undefined });
    }
    return true;
  }, signal);
  return { forgotten: forgotten!, isEarlier };
}

/** Removes an observer's records page by page, up to the timestamp of its unregistration. */
class Removal {
  readonly #registry: Registry;
  readonly #name: string;
  readonly #forgotten: StoredForgotten;
  readonly #options: UnregisterOptions;
  removed = 0;

  constructor(registry: Registry, name: string, forgotten: StoredForgotten, options: UnregisterOptions) {
    this.#registry = registry;
    this.#name = name;
    this.#forgotten = forgotten;
    this.#options = options;
  }

  get #context(): TransactionContext {
    return this.#registry.context;
  }

  async #progress(removed: number): Promise<void> {
    this.removed += removed;
    await this.#options.onProgress?.({ removed: this.removed });
    throwIfAborted(this.#options.signal, `Removing the records of observer "${this.#name}"`);
  }

  async removeHints(): Promise<void> {
    const { store } = this.#context;
    const range = prefixRange(hintPrefix(this.#name));
    // Commits in progress at the unregistration write hints with later timestamps. This method
    // removes those hints too, unless the observer was registered again. It takes the timestamp
    // before it reads the registry. If the registry does not contain the observer at that read, a
    // later registration can only lead to hints above the timestamp.
    const moment = await currentTimestamp(this.#context);
    const isBack = (await this.#registry.reload()).observers.has(this.#name);
    const upTo = isBack ? this.#forgotten.upTo : moment;
    const read = (start?: Position) => readHints(store, { start, end: range.end }, pageRecords);
    for await (const page of pages(read, range.start)) {
      const old = page.hints.filter((hint) => hint.timestamp <= upTo);
      await Promise.all(old.map((hint) => store.mutate(deleteHint(hint.address, upTo))));
      await this.#progress(old.length);
    }
  }

  /** Removes its entries in the list of parked changes. */
  async removeEntries(): Promise<void> {
    const first = Buffer.from(`${this.#name}\0`);
    const isOld = (value: Buffer) => decodeParkedEntry(value).start <= this.#forgotten.upTo;
    await this.#removeCells(parkedTable, first, prefixEnd(first), allColumns, isOld);
  }

  /**
   * Removes its acknowledgments and parked records, which are in the rows of the observed table.
   */
  async removeRecords(): Promise<void> {
    const columns = [acknowledgmentPrefix(this.#name), parkedPrefix(this.#name)].map(
      (prefix): ColumnRange => ({ start: prefix, end: prefixEnd(prefix) }),
    );
    const isOld = (value: Buffer) => decodeAcknowledgment(value).start <= this.#forgotten.upTo;
    await this.#removeCells(this.#forgotten.table, undefined, undefined, columns, isOld);
  }

  async #removeCells(
    table: string,
    first: Uint8Array | undefined,
    last: Uint8Array | undefined,
    columns: readonly ColumnRange[],
    goes: (value: Buffer) => boolean,
  ): Promise<void> {
    const end = last === undefined ? undefined : { row: last };
    const removeFrom = (start?: Position) =>
      this.#registry.retrying(async () => {
        const tx = await CoreTransaction.begin(this.#context, { label: `unregister ${this.#name}` });
        try {
          const page = await tx.reader.range({ table, start, end, columns, limit: pageRecords });
          const removed = removePage(tx, table, page.rows, goes);
          await tx.commit();
          return { removed, next: page.next };
        } finally {
          tx.rollback();
        }
      }, this.#options.signal);
    const start = first === undefined ? undefined : { row: first };
    for await (const { removed } of pages(removeFrom, start)) await this.#progress(removed);
  }
}

function removePage(
  tx: CoreTransaction,
  table: string,
  rows: readonly CommittedRow[],
  goes: (value: Buffer) => boolean,
): number {
  let removed = 0;
  for (const { row, cells } of rows) {
    for (const { column, value } of cells) {
      if (value === undefined || !goes(value)) continue;
      tx.write({ table, row, column, value: undefined });
      removed++;
    }
  }
  return removed;
}
