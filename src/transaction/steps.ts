import type { CellAddress } from "./cell/address.js";

/**
 * The steps of commits and of lock resolution. Each runs through {@link CommitHooks.step}. A test
 * can stop before or after a step, make it fail, or make it answer `unknown`.
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

/** What a step works on. */
export interface StepInfo {
  readonly startTimestamp: number;
  readonly commitTimestamp?: number | undefined;
  /** The mutated cell as text. Undefined if the step mutates none. */
  readonly cell?: string | undefined;
  /** The same cell in bytes. Defined if the transaction itself writes it. */
  readonly address?: CellAddress | undefined;
  readonly label?: string | undefined;
}

/** The answer to a read of one cell, without the transaction's own writes. */
export interface ReadInfo {
  /** The start timestamp of the read. */
  readonly startTimestamp: number;
  readonly cell: CellAddress;
  /** Commit timestamp of the version. Undefined if the cell is absent. */
  readonly commit: number | undefined;
  /** The value. Undefined if the cell is absent or deleted. */
  readonly value: Uint8Array | undefined;
}

/**
 * Hooks around the steps of a commit, for tests and traces. See `StepHooks` of
 * `percolatordb/testing`.
 */
export interface CommitHooks {
  /** Runs `run` and returns its answer. */
  step<T>(name: StepName, info: StepInfo, run: () => Promise<T>): Promise<T>;
  /**
   * Called for every cell that a transaction reads, before the caller gets it. Turns zero-copy
   * reads off.
   */
  read?(info: ReadInfo): void;
}

/** Hooks that only run each step. */
export const noHooks: CommitHooks = Object.freeze({
  step<T>(_name: StepName, _info: StepInfo, run: () => Promise<T>): Promise<T> {
    return run();
  },
});
