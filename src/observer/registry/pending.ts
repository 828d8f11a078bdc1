import { type Position, pages } from "../../store/index.js";
import { after, timestampToDate } from "../../transaction/index.js";
import { hintAddress, hintPrefix, prefixRange, readHints, type StandingHint } from "../hint/hint.js";
import { nameCell, type ObservedCell } from "./cell-of.js";
import type { RegisteredObserver } from "./registered.js";
import type { Registry } from "./registry.js";
import type { RegistryView } from "./view.js";

/**
 * A change that an observer has not handled yet. It may be under way, or done and its hint not yet
 * gone.
 */
export interface PendingChange extends ObservedCell {
  /** When it was committed, about. */
  readonly since: Date;
  /** Commit timestamp of the change, or of what made it due again. */
  readonly timestamp: number;
  /** Attempts that failed. */
  readonly attempts: number;
  /** When it is tried again, where it failed. */
  readonly notBefore: Date | undefined;
  /** The last failure, in short. */
  readonly lastError: string | undefined;
}

/** What `db.pending` takes. Everything has a default. */
export interface PendingOptions {
  /** Only of this observer, by its name. Default: of all. */
  readonly observer?: string | undefined;
  /** Ends the list with an error when aborted. */
  readonly signal?: AbortSignal | undefined;
}

const pageHints = 500;

/** Lists the changes that wait for observers, by observer; as they stand while it goes along. */
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
      // What an unregistered observer left is nobody's.
      if (registered !== undefined) yield pendingChange(view, registered, hint);
    }
  }
}

/** The changes of one row that wait for observers, at most 500 of each. */
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
    for (const hint of hints) pending.push(pendingChange(view, registered, hint));
  }
  return pending;
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
    notBefore: state.notBefore > 0 ? new Date(state.notBefore) : undefined,
    lastError: state.error,
  };
}
