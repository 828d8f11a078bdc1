import { isSameLease, type StandingLease } from "./lease-row.js";

/**
 * Decides for how long this process must respect another candidate's lease, by this process's own
 * monotonic clock alone.
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
   * Milliseconds to wait until this process may take the lease, if it does not change until then.
   * `readAt` is the monotonic time after the answer came. A holder counts its lease from before its
   * request, so from before any process could read it. Therefore the holder has stopped one whole
   * lease after this process first saw it.
   */
  remainingMs(standing: StandingLease | undefined, readAt: number): number {
    if (!isSameLease(standing, this.#seen)) {
      this.#seen = standing;
      this.#seenAt = readAt;
    }
    if (standing === undefined) return 0;
    const { holder, leaseMs } = standing.record;
    // The lease is this process's own, although it does not lead: the store applied an attempt
    // late. No timestamp was given out under it.
    if (holder === "" || holder === this.#self) return 0;
    return Math.max(0, this.#seenAt + leaseMs * (1 + this.#maximumDrift) - readAt);
  }
}
