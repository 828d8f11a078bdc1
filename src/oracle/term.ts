import type { Environment } from "../environment/index.js";
import { encodeLease, type LeaseRecord } from "./lease-record.js";
import type { StandingLease } from "./lease-row.js";
import { TimestampWindow } from "./window.js";

/** A moment on both clocks, in milliseconds. */
export interface ClockReading {
  readonly monotonic: number;
  readonly wall: number;
}

export function readClocks(environment: Environment): ClockReading {
  return { monotonic: environment.monotonic(), wall: environment.now() };
}

/** Wall time in whole microseconds. 0 if the clock shows nothing usable. */
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
   * Whether a write was rejected for a reason that is not known yet: another candidate may have
   * taken the row.
   */
  isDoubted = false;

  /**
   * `floor`: all earlier timestamps are at or below it. `askedAt`: the time before the request for
   * the lease.
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
   * Whether no other candidate can lead yet. The monotonic clock decides. The wall clock can only
   * say no: it advances while a machine sleeps and its monotonic clock stops.
   */
  holds(at: ClockReading): boolean {
    const { leaseMs } = this.#lease.record;
    return (
      !this.isDoubted &&
      at.monotonic - this.#leasedAt.monotonic < leaseMs &&
      !(at.wall - this.#leasedAt.wall >= leaseMs)
    );
  }

  /** Records a write that extends the lease, from the time before its request. */
  extend(record: LeaseRecord, askedAt: ClockReading): void {
    this.adopt({ record, bytes: encodeLease(record) });
    this.#leasedAt = askedAt;
  }

  /**
   * Records that an earlier write of this term is in the row. The time of its request is not known
   * any more, so the lease is not extended.
   */
  adopt(lease: StandingLease): void {
    this.#lease = lease;
    this.isDoubted = false;
    this.window.raise(lease.record.mark);
  }
}
