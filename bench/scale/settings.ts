/** How scanners keep out of each other's way. */
export type Finding =
  /** 64 buckets of each observer, divided among the live sessions. */
  | "shares"
  /** From random places, with claims at the coordinator; a scanner that meets another's claim jumps. */
  | "claims"
  /** With claims, but going on behind the other. */
  | "claims, no jumps"
  /** From random places, with nothing said to the others. */
  | "nothing";

/** What is built, as far as it matters for scale. */
export type Renewal = "each run" | "one for all" | "told";

export interface Design {
  readonly name: string;
  readonly finding: Finding;
  /**
   * How often a session puts its record into the store and reads those of all: every second, or less often with each session that there is, by
   * so many milliseconds. Undefined: never, its stream to the coordinator says that it lives.
   */
  readonly refreshForEach: number | undefined;
  /** Who reads the registry anew when it is a second old: each run that finds it so, one for all, or none: it is told. */
  readonly registry: Renewal;
  /** And who the safepoint. */
  readonly safepoint: Renewal;
  /** Tablets over which the hints are spread. */
  readonly hintTablets: number;
  /** Whether looking for hints begins with a look at the observer's first one. */
  readonly looksAtFirst: boolean;
  /** Hints that are claimed in one go, and for how long a claim that was refused is not asked for again, in milliseconds. */
  readonly claimsAtOnce: number;
  readonly refusedFor: number;
  /** Hints of a page, and jumps of one walk. */
  readonly page: number;
  readonly jumps: number;
  /** After the last jump: goes on past what others have, or leaves it to the next walk. */
  readonly afterJumps: "goes on" | "stops";
  /** Whether the pauses between looks of workers that find nothing grow with the number of workers. */
  readonly isCrowdAware: boolean;
  /** Milliseconds for which a hint is left to the worker whose run has caused it. */
  readonly leftFor: number;
  /** Hints of one observer that a worker takes on at once. */
  readonly queueLimit: number;
  /** For how long a client gathers callers before it asks the coordinator, in milliseconds. */
  readonly gather: number;
  /** Services among which claims are divided by their keys; the coordinator itself where it is one. */
  readonly claimServices: number;
  /** Workers of one machine that share a connection to the coordinator. */
  readonly perRelay: number;
  /** Reads of one tick go in one request. */
  readonly gathersReads: boolean;
}

export interface Workload {
  /** Observers in a row: each run but the last one leaves a hint for the next. */
  readonly observers: number;
  /** Rows that a run reads beside its own, all at once. */
  readonly reads: number;
  /** Rows that a run writes beside its own. */
  readonly writes: number;
  /** Mean of what the program itself computes in a run, in milliseconds, exponentially distributed. */
  readonly compute: number;
  /** Rows that the writes choose from, and how unevenly: 0 is evenly. */
  readonly rows: number;
  readonly exponent: number;
}

export interface ScaleSettings {
  readonly seed: string;
  readonly workers: number;
  /** Tablet servers. */
  readonly servers: number;
  /** Runs at the same time in one worker. */
  readonly concurrency: number;
  readonly design: Design;
  readonly workload: Workload;
  /** What is loaded, in parts of what the processors of all workers could run. Above 1 there is always more than can be done. */
  readonly load: number;
  /** Seconds before and while it is counted. */
  readonly warmUp: number;
  readonly counted: number;
}

/** Everything through the store, as one machine has it. */
export const throughStore: Design = {
  name: "store",
  finding: "shares",
  refreshForEach: 0,
  registry: "each run",
  safepoint: "each run",
  hintTablets: 1,
  looksAtFirst: true,
  claimsAtOnce: 32,
  refusedFor: 1_000,
  page: 256,
  jumps: 8,
  afterJumps: "goes on",
  isCrowdAware: false,
  leftFor: 0,
  queueLimit: 1_024,
  gather: 0,
  gathersReads: true,
  claimServices: 1,
  perRelay: 1,
};

/** With claims and liveness by the coordinator. */
export const throughCoordinator: Design = {
  ...throughStore,
  name: "coordinator",
  finding: "claims",
  refreshForEach: 10,
  registry: "one for all",
  safepoint: "one for all",
  looksAtFirst: false,
  isCrowdAware: true,
  queueLimit: 256,
};

/** And with what the model says is in the way taken out of it. */
export const mended: Design = {
  ...throughCoordinator,
  name: "mended",
  refreshForEach: undefined,
  registry: "told",
  safepoint: "told",
  hintTablets: 256,
  page: 16,
  jumps: 1,
  afterJumps: "stops",
  leftFor: 250,
  gather: 2,
  perRelay: 16,
};

/** And with the claims divided. */
export const divided: Design = { ...mended, name: "divided", claimServices: 16 };

export const designs: readonly Design[] = [throughStore, throughCoordinator, mended, divided];

export const webIndex: Workload = { observers: 4, reads: 2, writes: 2, compute: 2, rows: 1e9, exponent: 0 };
