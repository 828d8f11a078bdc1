import { type Position, pages } from "../../store/index.js";
import { after, type CellAddress, timestampToDate } from "../../transaction/index.js";
import {
  crashNote,
  hintAddress,
  hintPrefix,
  prefixRange,
  readHints,
  type StandingHint,
} from "../hint/hint.js";
import { isRowOf, nameCell, type ObservedCell } from "./cell-of.js";
import type { RegisteredObserver } from "./registered.js";
import type { Registry } from "./registry.js";
import type { RegistryView } from "./view.js";

/**
 * A change that an observer has not handled yet. Its run may be in progress, or may be done while
 * its hint still exists.
 */
export interface PendingChange extends ObservedCell {
  /** Approximate time of its commit. */
  readonly since: Date;
  /** Commit timestamp of the change, or of what made it due again. */
  readonly timestamp: number;
  /** Attempts that failed, that were counted because a process ended, and a long run that is in progress. */
  readonly attempts: number;
  /** How often a process ended uncleanly while the change was due. Its run may have been the cause. */
  readonly crashes: number;
  /** Time of the next attempt. Undefined if no attempt has failed. */
  readonly notBefore: Date | undefined;
  /** The last failure in one line. Undefined if no run has failed. */
  readonly lastError: string | undefined;
}

/** The options of `db.pending`. All are optional. */
export interface PendingOptions {
  /** The name of the only observer to list. Default: all. */
  readonly observer?: string | undefined;
  /** Ends the list with an error when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

const pageHints = 500;

/**
 * Lists the changes that wait for observers, sorted by observer. It reads the current hints page by
 * page, not a snapshot.
 */
export async function* listPending(
  registry: Registry,
  options: PendingOptions = {},
): AsyncGenerator<PendingChange, void, undefined> {
  const { store } = registry.context;
  const range =
    options.observer === undefined
      ? { start: undefined, end: undefined }
      : prefixRange(hintPrefix(options.observer));
  const read = (start?: Position) => readHints(store, { start, end: range.end }, pageHints, options.signal);
  for await (const page of pages(read, range.start)) {
    const view = await registry.fresh();
    for (const hint of page.hints) {
      const registered = view.observers.get(hint.observer);
      // Skips hints of observers that are no longer registered, and of earlier ones of the same name.
      if (!registered?.watches(hint.column) || !isRowOf(view, registered, hint.row)) continue;
      yield pendingChange(view, registered, hint);
    }
  }
}

/** The changes of one row that wait for observers: at most 500 of each observer. */
export async function pendingOfRow(
  registry: Registry,
  table: string,
  row: Uint8Array,
): Promise<readonly PendingChange[]> {
  const view = await registry.fresh();
  const pending: PendingChange[] = [];
  for (const registered of view.observers.values()) {
    if (registered.record.table !== table) continue;
    const cell = { table, row, column: new Uint8Array(0) };
    const { row: hintRow } = hintAddress(hintPrefix(registered.name), cell);
    const range = { start: { row: hintRow }, end: after(hintRow) };
    const { hints } = await readHints(registry.context.store, range, pageHints);
    for (const hint of hints)
      if (registered.watches(hint.column)) pending.push(pendingChange(view, registered, hint));
  }
  return pending;
}

/** Whether an observer has a hint for a cell, of a commit at or above `from`. */
export async function hasHint(
  { context: { store } }: Registry,
  registered: RegisteredObserver,
  cell: CellAddress,
  from: number,
): Promise<boolean> {
  const { table, row, column } = registered.hint(cell).address;
  const at = Number.POSITIVE_INFINITY;
  const { cells } = await store.readRow({ table, row, columns: [{ exact: column }], at });
  return (cells[0]?.write?.timestamp ?? -1) >= from;
}

/** The observer and the cell of a hint in the store. */
export interface HintedCell {
  readonly observer: string;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
  /** Commit timestamp of the hint. */
  readonly timestamp: number;
}

/** All hints in the store, page by page. It is no snapshot. */
export function hintedCells(
  { context: { store } }: Registry,
  signal: AbortSignal | undefined,
): AsyncIterable<{ readonly hints: readonly HintedCell[] }> {
  return pages((start?: Position) => readHints(store, { start, end: undefined }, pageHints, signal));
}

function pendingChange(
  view: RegistryView,
  registered: RegisteredObserver,
  { row, column, timestamp, state }: StandingHint,
): PendingChange {
  return {
    ...nameCell(view, registered, row, column),
    since: timestampToDate(timestamp),
    timestamp,
    attempts: state.attempts,
    crashes: state.crashes ?? 0,
    notBefore: state.notBefore > 0 ? new Date(state.notBefore) : undefined,
    lastError: state.error === crashNote ? undefined : state.error,
  };
}
