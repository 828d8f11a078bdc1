import { isSameLease, type StandingLease } from "./lease-row.js";

/**
 * For how long somebody else's lease must be respected, by this process's own monotonic clock
 * alone.
 */
export class WatchedLease {
  readonly #self: string;
  readonly #maximumDrift: number;
  #seen: StandingLease | undefined;
  #seenAt = 0;

  constructor(self: string, maximumDrift: number) {
    this.#self = self;
    this.#maximumDrift = maximumDrift;
  }

  /**
   * Milliseconds to wait until the lease may be taken, where it still stands unchanged then.
   * `readAt`: monotonic time, taken after the answer came. Whoever holds a lease counts it from
   * before it asked for it, hence from before it could be seen; so a whole lease after it was first
   * seen, the holder has stopped.
   */
  remainingMs(standing: StandingLease | undefined, readAt: number): number {
    if (!isSameLease(standing, this.#seen)) {
      this.#seen = standing;
      this.#seenAt = readAt;
    }
    if (standing === undefined) return 0;
    const { holder, leaseMs } = standing.record;
    // One's own, when one does not lead: an attempt that was applied late. Nothing was given under
    // it, nor will be.
    if (holder === "" || holder === this.#self) return 0;
    return Math.max(0, this.#seenAt + leaseMs * (1 + this.#maximumDrift) - readAt);
  }
}
