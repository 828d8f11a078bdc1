import { type ClockReading, elapsedMs } from "../environment/index.js";
import { encodeLease, type LeaseRecord } from "./lease-record.js";
import type { StandingLease } from "./lease-row.js";
import { TimestampWindow } from "./window.js";

/** Wall time in whole microseconds. 0 if the clock does not show a time after 1970. */
export function wallUs(wallMs: number): number {
  const us = Math.floor(wallMs * 1_000);
  return us > 0 ? Math.min(us, Number.MAX_SAFE_INTEGER) : 0;
}

/** One epoch of leadership, from taking the lease to losing it. */
export class Term {
  readonly epoch: number;
  readonly window: TimestampWindow;
  #lease: StandingLease;
  #leasedAt: ClockReading;
  /**
   * Whether the store rejected a write for a reason that is not known yet. Another candidate may
   * have taken the row.
   */
  isDoubted = false;

  /**
   * `floor`: all timestamps of earlier terms are at or below it. `askedAt`: the time just before
   * the request for the lease.
   */
  constructor(record: LeaseRecord, floor: number, askedAt: ClockReading, windowUs: number) {
    this.epoch = record.epoch;
    this.window = new TimestampWindow(floor, record.mark, windowUs);
    this.#lease = { record, bytes: encodeLease(record) };
    this.#leasedAt = askedAt;
  }

  /** The lease in the row, as far as this candidate knows. */
  get lease(): StandingLease {
    return this.#lease;
  }

  /** The moment from which the lease counts. */
  get leasedAt(): ClockReading {
    return this.#leasedAt;
  }

  /**
   * Whether no other candidate can lead yet. Both clocks must confirm it: see {@link elapsedMs}.
   */
  holds(at: ClockReading): boolean {
    return !this.isDoubted && elapsedMs(this.#leasedAt, at) < this.#lease.record.leaseMs;
  }

  /**
   * Records a write that extends the lease. The lease then counts from `askedAt`, the time just
   * before the request.
   */
  extend(record: LeaseRecord, askedAt: ClockReading): void {
    this.adopt({ record, bytes: encodeLease(record) });
    this.#leasedAt = askedAt;
  }

  /**
   * Records that the row holds an earlier write of this term. This does not extend the lease,
   * because the time at which that write was requested is no longer known.
   */
  adopt(lease: StandingLease): void {
    this.#lease = lease;
    this.isDoubted = false;
    this.window.raise(lease.record.mark);
  }
}
