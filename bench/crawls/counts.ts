import type { Database } from "percolatordb";
import {
  allKinds,
  committedRuns,
  prefetchHits,
  type Requests,
  requestKinds,
  requestsOf,
  since,
  sumOf,
  totalOf,
} from "../harness/requests.js";
import { ratio, right, short, table } from "../harness/words.js";

/**
 * The requests of processes since they started. Scans count as reads, because the store sends both
 * in the same way.
 */
export interface Counted {
  /**
   * As without prefetching, joining and batching: one request for each step of the protocol.
   */
  readonly before: Requests;
  /** As sent, including retries. */
  readonly sent: Requests;
  readonly runs: number;
}

/**
 * Returns what a database of this process has requested from its store, and what the store has
 * sent.
 */
export async function countRequests(db: Database): Promise<Counted> {
  const { requests } = db.metrics;
  const { statistics } = await db.status();
  const sent = (...names: readonly string[]) => names.reduce((sum, name) => sum + (statistics[name] ?? 0), 0);
  return {
    before: {
      read: requests.read + requests.scan + prefetchHits(db),
      scan: 0,
      conditionalMutation: requests.conditionalMutation + requests.joined,
      plainMutation: requests.plainMutation,
      timestamp: requests.timestamp,
    },
    sent: {
      read: sent("readRequests"),
      scan: 0,
      conditionalMutation: sent("conditionalMutations"),
      plainMutation: sent("singleMutations", "bulkRequests"),
      timestamp: sent("timestampRequests"),
    },
    runs: committedRuns(db),
  };
}

/** Returns the work of all processes between two counts of each. */
export function countedSince(ends: readonly Counted[], starts: readonly Counted[]): Counted {
  const of = (way: "before" | "sent") =>
    sumOf(ends.map((end, index) => since(end[way], starts[index]?.[way] ?? requestsOf(() => 0))));
  const runs = ends.reduce((sum, end, index) => sum + end.runs - (starts[index]?.runs ?? 0), 0);
  return { before: of("before"), sent: of("sent"), runs };
}

/** The requests for each document, before batching and as sent. */
export function requestTable(
  rows: readonly { readonly name: string; readonly documents: number; readonly requests: Counted }[],
): string {
  const kinds = allKinds.filter((kind) => kind !== "scan");
  const columns = [
    "",
    right("documents"),
    right("before"),
    ...kinds.map((kind) => right(requestKinds[kind])),
  ];
  return table(
    [...columns, right("sent"), right("share")],
    rows.map(({ name, documents, requests: { before, sent } }) => {
      const each = (count: number) => short(count / documents);
      return [
        name,
        String(documents),
        each(totalOf(before)),
        ...kinds.map((kind) => `${each(before[kind])} → ${each(sent[kind])}`),
        each(totalOf(sent)),
        ratio(totalOf(sent) / totalOf(before)),
      ];
    }),
  );
}
