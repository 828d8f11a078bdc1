import type { JournalEntry } from "./journal.js";
import type { Operation } from "./operations.js";

/** What one process has recorded from its start to its end. */
export interface Life {
  /** The place of the process in the run; the one that takes the place of a killed process has the same. */
  readonly slot: number;
  /** Nanoseconds since the run began. */
  readonly endedAt: number;
  readonly entries: readonly JournalEntry[];
}

type Moment = Omit<Operation, "index"> & { readonly time: number };

/**
 * Joins the journals of all processes into one history. Process numbers are given as Jepsen gives them: each logical client has
 * its own, and one that was killed, or was not told an outcome, goes on with a number that is higher by the number of clients.
 *
 * @param lives in the order in which they began.
 * @param clients logical clients of each process.
 */
export function merge(lives: readonly Life[], clients: number): readonly Operation[] {
  const slots = Math.max(...lives.map(({ slot }) => slot)) + 1;
  const moments: Moment[] = [];
  const next = Array.from({ length: slots * clients }, (_, thread) => thread);
  for (const { slot, endedAt, entries } of lives) {
    for (let client = 0; client < clients; client++) {
      const thread = slot * clients + client;
      const renew = () => {
        next[thread] = next[thread]! + slots * clients;
      };
      let open: JournalEntry | undefined;
      for (const entry of entries) {
        if (entry.client !== client) continue;
        const { time, type, value } = entry;
        moments.push({ time, type, process: next[thread]!, value });
        open = type === "invoke" ? entry : undefined;
        if (type === "info") renew();
      }
      if (open !== undefined) {
        const time = Math.max(endedAt, open.time + 1);
        moments.push({ time, type: "info", process: next[thread]!, value: open.value });
      }
      renew();
    }
  }
  // What happened at the same time counts as concurrent: it begins before anything ends.
  const rank = ({ type }: Moment) => (type === "invoke" ? 0 : 1);
  moments.sort((a, b) => a.time - b.time || rank(a) - rank(b));
  return moments.map((moment, index) => ({ index, ...moment }));
}
