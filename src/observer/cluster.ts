import type { MaybePromise } from "../store/index.js";

/** What is due, as one who works on it names it: the row of its hint. */
export type ClaimKey = Uint8Array;

/** What all processes of a cluster are doing, by the word of the service that they report to. */
export interface ClusterActivity {
  /**
   * Changes when the service starts anew and has forgotten everything: what was read before does
   * not compare with it.
   */
  readonly epoch: string;
  /** How often any process has begun to be busy since. */
  readonly busyPeriods: number;
  /** Sessions that report to it. */
  readonly sessions: ReadonlySet<string>;
  /** Those of them that have a run in flight. */
  readonly busy: ReadonlySet<string>;
}

/**
 * The service that the processes of a cluster share: who lives, who works on what, and whether
 * anybody does. Stated here, kept by the coordinator's room. Everything it says is a hint: without
 * it, locks are judged by their own time, work is found twice at times, and idleness is found by
 * waiting.
 */
export interface Cluster {
  /**
   * Begins to report this process's session, which lives while the connection does. Resolves when
   * it is known, or `signal` aborts.
   */
  join(session: string, signal?: AbortSignal): Promise<void>;
  /** Ends the session; others are told at once that it is over. Harmless to repeat. */
  leave(): Promise<void>;
  /**
   * Whether a session lives: false where it was known and its connection has ended; undefined where
   * nobody answers or it was never known.
   */
  alive(session: string): MaybePromise<boolean | undefined>;
  /**
   * Claims what is due for this session. False where another live session holds it. True where it
   * is this session's, and where nobody answers: a claim is advice.
   */
  claim(key: ClaimKey): MaybePromise<boolean>;
  /** Gives a claim back. */
  release(key: ClaimKey): void;
  /**
   * To be acknowledged before a process that was quiet begins a run. Resolves also where nobody
   * answers.
   */
  busy(): MaybePromise<void>;
  /** No run is in flight any more. */
  quiet(): void;
  /** Undefined where nobody answers. */
  activity(signal?: AbortSignal): Promise<ClusterActivity | undefined>;
}
