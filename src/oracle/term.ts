import type { Environment } from "../environment/index.js";
import { encodeLease, type LeaseRecord } from "./lease-record.js";
import type { StandingLease } from "./lease-row.js";
import { TimestampWindow } from "./window.js";

/** A moment by both clocks, in milliseconds. */
export interface ClockReading {
  readonly monotonic: number;
  readonly wall: number;
}

export function readClocks(environment: Environment): ClockReading {
  return { monotonic: environment.monotonic(), wall: environment.now() };
}

/** Wall time in whole microseconds; 0 for a clock that shows nothing usable. */
export function wallUs(wallMs: number): number {
  const us = Math.floor(wallMs * 1_000);
  return us > 0 ? Math.min(us, Number.MAX_SAFE_INTEGER) : 0;
}

/** One epoch of leading, from a lease that was taken to its loss. */
export class Term {
  readonly epoch: number;
  readonly window: TimestampWindow;
  #lease: StandingLease;
  #leasedAt: ClockReading;
  /** A write was rejected, and why is not known yet: the row may be lost. */
  isDoubted = false;

  /**
   * `floor`: what was given before is at or below it. `askedAt`: before the lease was asked for.
   */
  constructor(record: LeaseRecord, floor: number, askedAt: ClockReading, windowUs: number) {
    this.epoch = record.epoch;
    this.window = new TimestampWindow(floor, record.mark, windowUs);
    this.#lease = { record, bytes: encodeLease(record) };
    this.#leasedAt = askedAt;
  }

  /** What stands in the row, as far as is known. */
  get lease(): StandingLease {
    return this.#lease;
  }

  /** From when the lease counts. */
  get leasedAt(): ClockReading {
    return this.#leasedAt;
  }

  /**
   * Whether nobody else can lead yet. The monotonic clock decides; the wall clock can only say no:
   * it goes on where a machine sleeps and its monotonic clock stands.
   */
  holds(at: ClockReading): boolean {
    const { leaseMs } = this.#lease.record;
    return (
      !this.isDoubted &&
      at.monotonic - this.#leasedAt.monotonic < leaseMs &&
      !(at.wall - this.#leasedAt.wall >= leaseMs)
    );
  }

  /** A record was written that extends the lease: from when it was asked for. */
  extend(record: LeaseRecord, askedAt: ClockReading): void {
    this.adopt({ record, bytes: encodeLease(record) });
    this.#leasedAt = askedAt;
  }

  /**
   * An earlier write of this term stands in the row. When it was asked for is not remembered: the
   * lease stays as it was.
   */
  adopt(lease: StandingLease): void {
    this.#lease = lease;
    this.isDoubted = false;
    this.window.raise(lease.record.mark);
  }
}
