/** What a run leaves out of what its seed decides. Used to find out what a failure needs. */
export interface Reduction {
  /** Names of clients' steps to leave out. */
  readonly leftSteps: ReadonlySet<string>;
  /** Names of incidents to leave out. */
  readonly leftIncidents: ReadonlySet<string>;
  /** Names of the only faults of requests that may happen. Undefined allows all. */
  readonly allowedFaults: ReadonlySet<string> | undefined;
}

export const nothingLeftOut: Reduction = Object.freeze({
  leftSteps: new Set<string>(),
  leftIncidents: new Set<string>(),
  allowedFaults: undefined,
});
