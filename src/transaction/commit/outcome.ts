import type { Hint } from "../context.js";

/** The result of a successful commit. A conflict is thrown instead. */
export interface CommitOutcome {
  /** Undefined if there was nothing to write. */
  readonly commitTimestamp: number | undefined;
  /** The hints that the commit wrote. */
  readonly hints: readonly Hint[];
  /** Work that continues after the commit point: rolling the secondaries forward. */
  readonly background?: Promise<void> | undefined;
}
