import type { FaultBudget } from "../../../src/testing/exploration/index.js";
import type * as programs from "../programs/index.js";

/** A program of the explorations, by its name in the code. */
export type ProgramName = {
  [Name in keyof typeof programs]: (typeof programs)[Name] extends { readonly clients: unknown }
    ? Name
    : never;
}[keyof typeof programs];

/** A change of one place of the source. */
export interface Patch {
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** A guard of the protocol taken away, in a build that only tests make. */
export interface Mutant {
  /** As protocol §9 names it. */
  readonly name: string;
  readonly patches: readonly Patch[];
  /** The exploration that must find it. */
  readonly killedBy: ProgramName;
  /** Seconds, not tenths of one: left to `npm run explore`, which tries all. */
  readonly takesLong?: true | undefined;
  /** Where the program's own budget of faults is not what finds it soonest. */
  readonly faults?: FaultBudget | undefined;
}
