import type { Timer } from "../../environment/index.js";
import type { CellAddress, EndTurn } from "../../transaction/index.js";
import type { HintState } from "../hint/hint.js";
import type { Observer } from "../observer.js";

/**
 * A hint that this process has taken on. While it exists, no other worker of this process works on
 * the same observer and cell. {@link TaskBoard} has the table of its phases.
 */
export interface Task {
  readonly key: string;
  readonly observer: Observer;
  readonly cell: CellAddress;
  readonly hint: CellAddress;
  /**
   * The scanner or worker that took the hint on. Undefined if a commit of this process offered it.
   */
  readonly takenBy: unknown;
  /** Newest known commit timestamp of the hint. */
  timestamp: number;
  /** The state in the hint. Undefined if the hint is new. */
  state: HintState | undefined;
  /** See {@link TaskBoard} for the phases. */
  phase: "queued" | "running" | "waiting" | "delayed" | "withdrawn";
  /**
   * Whether this process has claimed the hint's row in the cluster. It must release the claim when
   * the task has ended.
   */
  isClaimed: boolean;
  /** Commit timestamp of a change that arrived during the run. 0 if none did. */
  again: number;
  /** Number of conflicts since the last success or failure. */
  conflicts: number;
  /** Number of consecutive failures of the store or the coordinator. */
  setbacks: number;
  /** For a signal: the number of consecutive runs that notified their own signal again. */
  chain: number;
  /**
   * The most tasks of a run that this task takes part in. It is lowered after a run of several tasks
   * has failed, since any of them may be the cause.
   */
  company: number;
  timer: Timer | undefined;
  /** Ends the task's turn on a row where it conflicted. */
  endTurn: EndTurn | undefined;
}

/** The board's answer to an offered hint. */
export type Offer =
  /** Queued, or delayed until it is due. */
  | "taken"
  /** A task for the same observer and cell exists already. */
  | "held"
  /**
   * The hint is not due yet, and the board already holds its maximum of delayed tasks. A later scan
   * must find the hint.
   */
  | "waits"
  /** The queue is full. A later scan must find the hint. */
  | "full";

/** A hint that a commit or a scan offers to the board. */
export interface OfferedHint {
  readonly observer: Observer;
  readonly cell: CellAddress;
  readonly hint: CellAddress;
  readonly timestamp: number;
  readonly state: HintState | undefined;
  readonly takenBy: unknown;
  /** See {@link Task.isClaimed}. Default: false. */
  readonly isClaimed?: boolean | undefined;
}

/** The task of a hint that was just taken on. */
export function newTask(key: string, offered: OfferedHint): Task {
  const { observer, cell, hint, timestamp, state, takenBy } = offered;
  return {
    key,
    observer,
    cell,
    hint,
    takenBy,
    timestamp,
    state,
    phase: "queued",
    isClaimed: offered.isClaimed ?? false,
    again: 0,
    conflicts: 0,
    setbacks: 0,
    chain: 0,
    company: Number.POSITIVE_INFINITY,
    timer: undefined,
    endTurn: undefined,
  };
}
