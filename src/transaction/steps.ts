import type { CellAddress } from "./cell/address.js";

/**
 * The steps of a commit and of the resolution of locks, by name. Each runs through {@link CommitHooks.step}, so
 * that a test can stop before or after it, make it fail, or make it answer `unknown`.
 */
export type StepName =
  | "one-phase-commit"
  | "prewrite"
  | "commit-timestamp"
  | "validate"
  | "hints"
  | "commit-primary"
  | "commit-secondary"
  | "rollback-primary"
  | "fence-primary"
  | "rollback-secondary"
  | "roll-forward"
  | "push"
  | "refresh";

/** What a step is about. */
export interface StepInfo {
  readonly startTimestamp: number;
  readonly commitTimestamp?: number | undefined;
  /** The place that is mutated, where there is one. */
  readonly cell?: string | undefined;
  /** The same by its bytes, where it is a cell of the transaction itself. */
  readonly address?: CellAddress | undefined;
  readonly label?: string | undefined;
}

/** A cell as a transaction was answered it, below its own writes. */
export interface ReadInfo {
  /** The start timestamp at which was read. */
  readonly startTimestamp: number;
  readonly cell: CellAddress;
  /** Commit timestamp of the version; undefined where the cell is not. */
  readonly commit: number | undefined;
  /** The bytes; undefined where the cell is not, or was deleted. */
  readonly value: Uint8Array | undefined;
}

/** Stands between a transaction and the steps of its commit: for tests. See `StepHooks` of `percolatordb/testing`. */
export interface CommitHooks {
  /** Runs `run` and answers what it answered. */
  step<T>(name: StepName, info: StepInfo, run: () => Promise<T>): Promise<T>;
  /** Told of every cell that was read by a transaction, before its caller is. Takes the quickest way of reading away. */
  read?(info: ReadInfo): void;
}

/** Hooks that only run. */
export const noHooks: CommitHooks = Object.freeze({
  step<T>(_name: StepName, _info: StepInfo, run: () => Promise<T>): Promise<T> {
    return run();
  },
});
