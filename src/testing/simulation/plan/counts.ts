import { type FaultKind, faultKinds } from "./fault.js";

/** What happened in one run, or in several. */
export interface SimulationCounts {
  runs: number;
  /** Events of the runs, such as arrivals, answers and timers. */
  events: number;
  /** Virtual time, in milliseconds. */
  virtualMs: number;
  /** Requests sent to the store or the oracle. */
  requests: number;
  /** Clients' steps that succeeded. */
  steps: number;
  /** Clients' steps that ended with an error that a fault explains. */
  failedSteps: number;
  commits: number;
  conflicts: number;
  /** Committed runs of observers. */
  observerRuns: number;
  /** Observer runs that failed or timed out. */
  observerFailures: number;
  /** Changes that were parked. */
  parked: number;
  /** Completed passes of garbage collection. */
  collections: number;
  versionsDropped: number;
  /** Locks that a transaction met and rolled forward, rolled back, pushed, or waited for. */
  rolledForward: number;
  rolledBack: number;
  pushed: number;
  waited: number;
  /** How often a candidate became the oracle's leader after another one. */
  takeovers: number;
  /** Processes that were started, including those that set up and heal. */
  processes: number;
  /** Runs on each kind of store. */
  readonly stores: Record<string, number>;
  /** Faults that happened, by kind. */
  readonly faults: Record<FaultKind, number>;
}

/** Returns counts of zero, to add to. */
export function noCounts(): SimulationCounts {
  return {
    runs: 0,
    events: 0,
    virtualMs: 0,
    requests: 0,
    steps: 0,
    failedSteps: 0,
    commits: 0,
    conflicts: 0,
    observerRuns: 0,
    observerFailures: 0,
    parked: 0,
    collections: 0,
    versionsDropped: 0,
    rolledForward: 0,
    rolledBack: 0,
    pushed: 0,
    waited: 0,
    takeovers: 0,
    processes: 0,
    stores: {},
    faults: Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as Record<FaultKind, number>,
  };
}

/** Adds the counts of other runs. */
export function addCounts(sum: SimulationCounts, counts: SimulationCounts): void {
  addRecord(sum as unknown as Record<string, unknown>, counts as unknown as Record<string, unknown>);
}

function addRecord(sum: Record<string, unknown>, added: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(added)) {
    if (typeof value === "number") sum[name] = ((sum[name] as number | undefined) ?? 0) + value;
    else addRecord(sum[name] as Record<string, unknown>, value as Record<string, unknown>);
  }
}
