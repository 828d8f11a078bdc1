import type { Database } from "percolatordb";

export const kinds = ["reads", "conditional mutations", "plain mutations", "timestamps"] as const;

export type Requests = Readonly<Record<(typeof kinds)[number], number>>;

/** Requests of processes since they began. */
export interface Counted {
  /**
   * As they would be without fetching ahead, joining and gathering: one for each thing that the protocol asks of the store, though
   * the store may need several for it.
   */
  readonly before: Requests;
  /** As they were sent, repetitions included. */
  readonly sent: Requests;
  readonly runs: number;
}

export const none: Counted = { before: requestsOf(() => 0), sent: requestsOf(() => 0), runs: 0 };

/** What a database of this process has asked its store for, and what the store has sent. */
export async function countRequests(db: Database): Promise<Counted> {
  const { requests, observers } = db.metrics;
  let [hits, runs] = [0, 0];
  for (const observer of Object.values(observers)) {
    hits += observer.prefetch.hits;
    runs += observer.runs.committed;
  }
  const { statistics: sent } = await db.status();
  const of = (name: string) => sent[name] ?? 0;
  return {
    before: {
      reads: requests.read + requests.scan + hits,
      "conditional mutations": requests.conditionalMutation + requests.joined,
      "plain mutations": requests.plainMutation,
      timestamps: requests.timestamp,
    },
    sent: {
      reads: of("readRequests"),
      "conditional mutations": of("conditionalMutations"),
      "plain mutations": of("singleMutations") + of("bulkRequests"),
      timestamps: of("timestampRequests"),
    },
    runs,
  };
}

export function sum(all: readonly Counted[]): Counted {
  return all.reduce((total, each) => combine(total, each, (a, b) => a + b), none);
}

export function difference(end: Counted, start: Counted): Counted {
  return combine(end, start, (a, b) => a - b);
}

export function total(requests: Requests): number {
  return kinds.reduce((all, kind) => all + requests[kind], 0);
}

function combine(one: Counted, other: Counted, how: (a: number, b: number) => number): Counted {
  return {
    before: requestsOf((kind) => how(one.before[kind], other.before[kind])),
    sent: requestsOf((kind) => how(one.sent[kind], other.sent[kind])),
    runs: how(one.runs, other.runs),
  };
}

function requestsOf(count: (kind: (typeof kinds)[number]) => number): Requests {
  return Object.fromEntries(kinds.map((kind) => [kind, count(kind)])) as unknown as Requests;
}
