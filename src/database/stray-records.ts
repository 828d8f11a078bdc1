import { strayedSessions } from "../observer/index.js";
import type { Problem, TransactionContext } from "../transaction/index.js";
import { strayPublished } from "./active-publisher.js";

/** A record by which a process tells of itself, that cannot be read or says that it lasts for longer than any does. */
export interface StrayRecord extends Problem {
  readonly invariant: "readable" | "expires";
}

/** All that stand. None of them counts: each is removed by the next worker or collection that meets it. */
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
    const message = `it says that it counts until ${new Date(stray.expires).toISOString()}: the clock of its process was far ahead`;
    found.push({ invariant: "expires", where, message });
  };
  for await (const { session, ...stray } of strayedSessions(store, now)) look(`session ${session}`, stray);
  for await (const { process, ...stray } of strayPublished(store, now)) {
    look(`oldest snapshot of process ${process}`, stray);
  }
  return found;
}
