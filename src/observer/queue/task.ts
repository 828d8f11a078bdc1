import type { Timer } from "../../environment/index.js";
import type { CellAddress, EndTurn } from "../../transaction/index.js";
import type { HintState } from "../hint/hint.js";
import type { Observer } from "../observer.js";

/**
 * A hint that this process has taken on: nobody else in it works on the same observer and cell
 * meanwhile.
 */
export interface Task {
  readonly key: string;
  readonly observer: Observer;
  readonly cell: CellAddress;
  readonly hint: CellAddress;
  /** Which scanner or worker took it on; undefined for commits of this process. */
  readonly takenBy: unknown;
  /** Newest known commit timestamp of the hint. */
  timestamp: number;
  /** What stands in the hint; undefined where it is new. */
  state: HintState | undefined;
  /** Withdrawn: another process has it; it only stands in the queue until its turn. */
  phase: "queued" | "running" | "delayed" | "withdrawn";
  /** Whether its row is claimed in the cluster, so that the claim goes back when it is over. */
  isClaimed: boolean;
  /** Commit timestamp of a change that came while it ran; 0 for none. */
  again: number;
  /** How often others were faster, since it last succeeded or failed. */
  conflicts: number;
  /** Failures in a row of the store or the coordinator. */
  setbacks: number;
  /** For a signal: runs in a row after each of which it had notified itself again. */
  chain: number;
  timer: Timer | undefined;
  /** Ends the turn that it has on a row, on which others were faster. */
  endTurn: EndTurn | undefined;
}

/** What became of a hint that was offered. */
export type Offer =
  /** Queued, or kept until its time has come. */
  | "taken"
  /** Somebody has it already. */
  | "held"
  /** Its time has not come, and so many wait already that it is left to a later scan. */
  | "waits"
  /** The queue is full: come back. */
  | "full";

/** A hint to be worked on. */
export interface OfferedHint {
  readonly observer: Observer;
  readonly cell: CellAddress;
  readonly hint: CellAddress;
  readonly timestamp: number;
  readonly state: HintState | undefined;
  readonly takenBy: unknown;
  /** As {@link Task.isClaimed}. Default: false. */
  readonly isClaimed?: boolean | undefined;
}

/** A task of a hint that was just taken on. */
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
    timer: undefined,
    endTurn: undefined,
  };
}
