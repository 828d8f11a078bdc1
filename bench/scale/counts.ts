import { Durations } from "./distributions.js";

/** What is counted in a run of the model. */
export class Counts {
  /** From a hint's commit to the commit of the run that it caused. */
  readonly delay = new Durations();
  /** From a run's start to its commit, its repetitions included. */
  readonly duration = new Durations();
  loaded = 0;
  committed = 0;
  conflicts = 0;
  /** Runs that found that another worker had done it. */
  clean = 0;
  locksMet = 0;
  claims = 0;
  claimsRefused = 0;
  jumps = 0;
  scans = 0;
  timestamps = 0;
  timestampRequests = 0;
  registryLoads = 0;
  safepointReads = 0;
  sessionRowsRead = 0;
  /** Sessions that live and were cleared away, since their records had expired. */
  sessionsTakenForDead = 0;
  conditionalMutations = 0;
  rowsRead = 0;
  bulkRows = 0;

  /** Begins to count from nothing. */
  clear(): void {
    this.delay.clear();
    this.duration.clear();
    for (const [key, value] of Object.entries(this)) {
      if (typeof value === "number") (this as unknown as Record<string, number>)[key] = 0;
    }
  }
}
