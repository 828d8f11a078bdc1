import type { Hint } from "../context.js";

/** What a commit came to; a conflict is thrown. */
export interface CommitOutcome {
  /** Undefined where nothing was to be written. */
  readonly commitTimestamp: number | undefined;
  /** Hints that stand since. */
  readonly hints: readonly Hint[];
  /** What still goes on after the commit point, for whoever wants to wait for it. */
  readonly background?: Promise<void> | undefined;
}
