import { strayedSessions } from "../../observer/index.js";
import type { Problem, TransactionContext } from "../../transaction/index.js";
import { strayPublished } from "./active-publisher.js";

/**
 * A record of a process that every reader of the store ignores. Either the record cannot be read,
 * or its expiry is so late that only a wrong clock can have written it.
 */
export interface StrayRecord extends Problem {
  readonly invariant: "readable" | "expires";
}

/** Returns all stray records. The next worker or collection that reads one removes it. */
export async function strayRecords(context: TransactionContext): Promise<readonly StrayRecord[]> {
  const { store, environment } = context;
  const now = environment.now();
  const found: StrayRecord[] = [];
  const look = (where: string, stray: { readonly expires?: number; readonly error?: unknown }) => {
    if (stray.expires === undefined) {
      const message = stray.error instanceof Error ? stray.error.message : String(stray.error);
      found.push({ invariant: "readable", where, message });
      return;
    }
    const message = `it expires only at ${new Date(stray.expires).toISOString()}: the clock of its process was far ahead`;
    found.push({ invariant: "expires", where, message });
  };
  for await (const { session, ...stray } of strayedSessions(store, now)) look(`session ${session}`, stray);
  for await (const { process, ...stray } of strayPublished(store, now)) {
    look(`oldest snapshot of process ${process}`, stray);
  }
  return found;
}
