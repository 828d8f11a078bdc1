/**
 * Parts of a run to leave out. A search leaves out more and more parts, until it has found the
 * parts that a failure needs.
 */
export interface Reduction {
  /** Names of clients' steps to leave out. */
  readonly leftSteps: ReadonlySet<string>;
  /** Names of incidents to leave out. */
  readonly leftIncidents: ReadonlySet<string>;
  /** Names of the request faults that may still happen. Undefined allows all. */
  readonly allowedFaults: ReadonlySet<string> | undefined;
}

export const nothingLeftOut: Reduction = Object.freeze({
  leftSteps: new Set<string>(),
  leftIncidents: new Set<string>(),
  allowedFaults: undefined,
});
