import { isSameLease, type SeenLease, type StandingLease } from "./lease-row.js";

/**
 * Decides how long this process must respect another candidate's lease. It uses only this process's
 * own monotonic clock.
 */
export class WatchedLease {
  readonly #self: string;
  readonly #maximumDrift: number;
  #seen: SeenLease;

  /** `seen`: the lease as this process saw it before it became a candidate. */
  constructor(self: string, maximumDrift: number, seen: SeenLease = { lease: undefined, at: 0 }) {
    this.#self = self;
    this.#maximumDrift = maximumDrift;
    this.#seen = seen;
  }

  /**
   * Milliseconds to wait until this process may take the lease, if the lease does not change until
   * then. `readAt` is the monotonic time after the read was answered. The holder counts its lease
   * from before its own write, and no process could read the lease before that write. The holder
   * has therefore stopped when one whole lease has passed since this process first saw the lease.
   */
  remainingMs(standing: StandingLease | undefined, readAt: number): number {
    if (!isSameLease(standing, this.#seen.lease)) this.#seen = { lease: standing, at: readAt };
    if (standing === undefined) return 0;
    const { holder, leaseMs } = standing.record;
    // No process relies on the lease. Either the leader has given it up, or the store applied an
    // attempt of this process late, after the process had abandoned the attempt.
    if (holder === "" || holder === this.#self) return 0;
    return Math.max(0, this.#seen.at + leaseMs * (1 + this.#maximumDrift) - readAt);
  }
}
