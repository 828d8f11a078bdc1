/** What a run leaves out of what its seed says; to find out what a failure needs. */
export interface Reduction {
  /** Names of steps of clients that are not done. */
  readonly leftSteps: ReadonlySet<string>;
  /** Names of incidents that do not happen. */
  readonly leftIncidents: ReadonlySet<string>;
  /** The only faults of requests that happen, by name; undefined: all. */
  readonly allowedFaults: ReadonlySet<string> | undefined;
}

export const nothingLeftOut: Reduction = Object.freeze({
  leftSteps: new Set<string>(),
  leftIncidents: new Set<string>(),
  allowedFaults: undefined,
});
