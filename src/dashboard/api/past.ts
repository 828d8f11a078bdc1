/** `GET api/past?after=`: the last hour, or the part of it after a time. */
export interface Past {
  /** The time between two moments. */
  readonly everyMs: number;
  /** Oldest first. Times in which no dashboard ran have none. */
  readonly moments: readonly PastMoment[];
  /** Where the moments are kept. Those in memory are lost when the dashboard ends. */
  readonly keptIn: "database" | "memory";
}

/** What the dashboard has seen at one moment. Rates are undefined if no process reported. */
export interface PastMoment {
  readonly at: number;
  readonly pending: number;
  /** Age of the oldest waiting change. 0 if none waits. */
  readonly oldestMs: number;
  readonly parked: number;
  /** Per second, like the others. */
  readonly commits: number | undefined;
  readonly conflicts: number | undefined;
  readonly failures: number | undefined;
  /** The observers with the largest backlogs. */
  readonly observers: Readonly<
    Record<
      string,
      readonly [
        pending: number,
        oldestMs: number,
        parked: number,
        failures: number,
        hosts: number,
        /** Missing in moments that earlier versions have kept. */
        retrying?: number,
      ]
    >
  >;
}
