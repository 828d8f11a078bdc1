import type { FaultBudget } from "../../../src/testing/exploration/index.js";
import type * as programs from "../programs/index.js";

/** A program of the explorations, by its name in the code. */
export type ProgramName = {
  [Name in keyof typeof programs]: (typeof programs)[Name] extends { readonly clients: unknown }
    ? Name
    : never;
}[keyof typeof programs];

/** A change at one place of the source. */
export interface Patch {
  readonly file: string;
  /** The text to replace. It occurs in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** A guard of the protocol that is removed, in a build that is only for tests. */
export interface Mutant {
  /** The name in protocol §9. */
  readonly name: string;
  readonly patches: readonly Patch[];
  /** The exploration that must find the mutant. */
  readonly killedBy: ProgramName;
  /**
   * Set if the exploration takes seconds, not tenths of a second. Only `npm run explore` explores
   * such a mutant.
   */
  readonly takesLong?: true | undefined;
  /**
   * Set if a search in this order finds the mutant faster. Its trace is then not one of the shortest.
   * Default: breadth-first.
   */
  readonly order?: "depth-first" | undefined;
  /** Set if this fault budget finds the mutant faster than the program's own budget. */
  readonly faults?: FaultBudget | undefined;
}
