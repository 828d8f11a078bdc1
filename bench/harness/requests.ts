import type { Database } from "percolatordb";

/** The kinds of requests to a remote store and its oracle, in display order. */
export const requestKinds = {
  read: "reads",
  scan: "scans",
  conditionalMutation: "conditional mutations",
  plainMutation: "plain mutations",
  timestamp: "timestamps",
} as const;

export type RequestKind = keyof typeof requestKinds;
export const allKinds = Object.keys(requestKinds) as readonly RequestKind[];
export type Requests = Readonly<Record<RequestKind, number>>;

export function requestsOf(count: (kind: RequestKind) => number): Record<RequestKind, number> {
  return Object.fromEntries(allKinds.map((kind) => [kind, count(kind)])) as Record<RequestKind, number>;
}

export function totalOf(requests: Requests): number {
  return allKinds.reduce((sum, kind) => sum + requests[kind], 0);
}

export function sumOf(all: readonly Requests[]): Requests {
  return requestsOf((kind) => all.reduce((sum, each) => sum + each[kind], 0));
}

export function since(end: Requests, start: Requests): Requests {
  return requestsOf((kind) => end[kind] - start[kind]);
}

/** Returns how many cells the runs of observers found prefetched. Each saved a read. */
export function prefetchHits({ metrics }: Pick<Database, "metrics">): number {
  return Object.values(metrics.observers).reduce((sum, { prefetch }) => sum + prefetch.hits, 0);
}

/** Returns the committed runs of observers. */
export function committedRuns({ metrics }: Pick<Database, "metrics">): number {
  return Object.values(metrics.observers).reduce((sum, { runs }) => sum + runs.committed, 0);
}
