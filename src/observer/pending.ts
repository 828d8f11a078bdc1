import { timestampToDate } from "../transaction/index.js";
import { nameCell, type ObservedCell } from "./cell-of.js";
import { hintPrefix, prefixRange, readHints } from "./hint.js";
import type { Registry } from "./registry.js";

/** A change that an observer has not handled yet. It may be under way, or done and its hint not yet gone. */
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

export interface PendingOptions {
  /** Only of this observer. */
  readonly observer?: string | undefined;
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
  let start = range.start;
  do {
    const page = await readHints(store, { start, end: range.end }, pageHints, options.signal);
    const view = await registry.fresh();
    for (const { observer, row, column, timestamp, state } of page.hints) {
      const registered = view.observers.get(observer);
      // What an unregistered observer left is nobody's.
      if (registered === undefined) continue;
      yield {
        ...nameCell(view, registered, row, column),
        since: timestampToDate(timestamp),
        timestamp,
        attempts: state.attempts,
        notBefore: state.notBefore > 0 ? new Date(state.notBefore) : undefined,
        lastError: state.error,
      };
    }
    start = page.next;
  } while (start !== undefined);
}
