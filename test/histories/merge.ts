import type { JournalEntry } from "./journal.js";
import type { Operation } from "./operations.js";

/** The record of one process from its start to its end. */
export interface Life {
  /** The index of the process in the run. The successor of a killed process has the same index. */
  readonly slot: number;
  /** Nanoseconds since the run began. */
  readonly endedAt: number;
  readonly entries: readonly JournalEntry[];
}

type Moment = Omit<Operation, "index"> & { readonly time: number };

/**
 * Joins the journals of all processes into one history. Process numbers are assigned as in Jepsen:
 * each logical client has its own. After a kill or an unknown outcome the client continues with its
 * number plus the number of all clients.
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
  // Operations at the same time count as concurrent: one begins before the other ends.
  const rank = ({ type }: Moment) => (type === "invoke" ? 0 : 1);
  moments.sort((a, b) => a.time - b.time || rank(a) - rank(b));
  return moments.map((moment, index) => ({ index, ...moment }));
}
