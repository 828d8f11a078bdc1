import type { CoordinatorShown, Reach } from "./shared.js";

/** `GET api/workers`. */
export interface Workers {
  readonly reach: Reach;
  readonly sessions: readonly {
    readonly session: string;
    readonly process: string;
    readonly observers: readonly string[];
    readonly isHere: boolean;
    /** False if the process has stopped sending heartbeats and has not ended in order. */
    readonly isLive: boolean;
    /** For a process that is not live: whether it still exists, if that is known. */
    readonly exists: boolean | undefined;
    readonly lastHeartbeatAt: number;
    /** What the process has said about itself with its last heartbeat. */
    readonly vitals: WorkerVitals | undefined;
    /**
     * By how much the clock of the process is ahead of the dashboard's, as far as heartbeats tell:
     * accurate to about two seconds. Undefined until some heartbeats were seen.
     */
    readonly clockOffsetMs: number | undefined;
    /** Only processes that send reports have the figures below. */
    readonly runsPerSecond: number | undefined;
    readonly commitsPerSecond: number | undefined;
    readonly running: number | undefined;
    readonly claims: number | undefined;
    readonly memoryBytes: number | undefined;
  }[];
  readonly coordinator: CoordinatorShown | undefined;
  /** Processes or named dashboards that sent no report, and why. */
  readonly unheard?: readonly { readonly name: string; readonly error: string }[];
}

/** How a process does, as its heartbeats say. */
export interface WorkerVitals {
  /** Version of the package. */
  readonly version: string;
  readonly upMs: number;
  /** The part of one processor that the process used since its heartbeat before: 0 to 1, or more. */
  readonly cpuShare: number;
  /** The longest delay of its event loop since its heartbeat before. */
  readonly loopDelayMs: number;
  /** Memory of the process, without files that it maps. */
  readonly memoryBytes: number;
}
