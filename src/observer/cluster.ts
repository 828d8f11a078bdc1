import type { MaybePromise } from "../store/index.js";

/** The name of a due change in the cluster: the row of its hint. */
export type ClaimKey = Uint8Array;

/** The activity of all processes of a cluster, as far as they report it to the service. */
export interface ClusterActivity {
  /**
   * Identifies one start of the service. It changes when the service restarts and forgets
   * everything. Values of different epochs cannot be compared.
   */
  readonly epoch: string;
  /** How many times processes have become busy in this epoch. */
  readonly busyPeriods: number;
  /** The sessions that report to the service. */
  readonly sessions: ReadonlySet<string>;
  /** The sessions among them that have runs in progress. */
  readonly busy: ReadonlySet<string>;
}

/**
 * The service that the processes of a cluster share. It knows which sessions are alive, which rows
 * each session works on, and whether any session works at all. `src/observer` declares this
 * interface, and `src/coordinator` implements it.
 *
 * Its answers are only advice. Without them, a lock counts as abandoned when its own time to live
 * has passed, two processes sometimes run the same hint, and a process cannot tell whether the
 * others have work left.
 */
export interface Cluster {
  /**
   * Begins to report this process's session. The session is alive as long as the connection.
   * Resolves when the service knows the session, or when `signal` is aborted.
   */
  join(session: string, signal?: AbortSignal): Promise<void>;
  /**
   * Ends the session. The service tells the other processes at once. A repeated call has no further
   * effect.
   */
  leave(): Promise<void>;
  /**
   * Whether a session is alive. False if the service knew it and its connection has ended.
   * Undefined if the service does not answer or never knew the session.
   */
  alive(session: string): MaybePromise<boolean | undefined>;
  /**
   * Claims a due change for this session. False if another live session has the claim. True if this
   * session has it, and also if the service does not answer, since a claim is only advice.
   */
  claim(key: ClaimKey): MaybePromise<boolean>;
  /** Releases a claim. */
  release(key: ClaimKey): void;
  /**
   * Reports that this process is busy. A process that was quiet calls this before it begins a run,
   * and begins the run when the result resolves. Resolves even if the service does not answer.
   */
  busy(): MaybePromise<void>;
  /** Reports that this process has no runs in progress any more. */
  quiet(): void;
  /** What all processes do. Undefined if the service does not answer. */
  activity(signal?: AbortSignal): Promise<ClusterActivity | undefined>;
}
