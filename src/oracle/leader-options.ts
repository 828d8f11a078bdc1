import type { Environment } from "../environment/index.js";
import { InvalidArgumentError } from "../errors/index.js";
import type { RowStore } from "../store/index.js";
import type { SeenLease } from "./lease-row.js";

/** The options of a candidate for the leadership of an oracle. */
export interface OracleLeaderOptions {
  /**
   * The store that holds the row with the lease and the high-water mark. All candidates of an
   * oracle share it.
   */
  readonly store: RowStore;
  readonly environment: Environment;
  /**
   * The name under which clients know this candidate, such as an address. At most 1,000 characters.
   * Each candidate must have a different name.
   */
  readonly name: string;
  /**
   * Length of a lease, in milliseconds. After a leader dies, the oracle has no leader for about
   * this long. Default: 10,000, longer than a garbage collection pause.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How often the leader renews its lease, in milliseconds. Must be less than the lease. Default: a
   * quarter of the lease.
   */
  readonly renewEveryMs?: number | undefined;
  /**
   * The longest time between two reads of the lease by a standby, in milliseconds. Default:
   * `renewEveryMs`.
   */
  readonly lookEveryMs?: number | undefined;
  /**
   * How far ahead the leader reserves timestamps, by raising the high-water mark, in milliseconds.
   * Each millisecond stands for 1,000 timestamps. Default: 10,000.
   */
  readonly windowMs?: number | undefined;
  /**
   * How much faster this machine's monotonic clock may run than another's, as a fraction. A standby
   * waits longer than the lease by this fraction before it takes the lease over. Default: 0.05.
   */
  readonly maximumDrift?: number | undefined;
  /**
   * How long to wait for the store's answer to one request, in milliseconds. Default: a quarter of
   * the lease.
   */
  readonly requestTimeoutMs?: number | undefined;
  /**
   * Maximum number of timestamps per request. It must not exceed the number of timestamps in a
   * window. Default: 100,000, or the number in a window if that is smaller.
   */
  readonly maxAtOnce?: number | undefined;
  /** The most requests that wait while the leader raises the mark. Default: 10,000. */
  readonly maxWaiting?: number | undefined;
  /**
   * The lease that this process saw before, and when by the monotonic clock of `environment`: the
   * candidate does not wait for that time again.
   */
  readonly seen?: SeenLease | undefined;
  /** Called after each change of {@link OracleLeader.status}. Must not throw. */
  readonly onChange?: ((status: LeaderStatus) => void) | undefined;
  /**
   * Called after each failure in the background. The candidate retries by itself. Must not throw.
   */
  readonly onFailure?: ((failure: LeaderFailure) => void) | undefined;
}

/** A failure in the background, which no caller sees. */
export interface LeaderFailure {
  readonly doing: string;
  readonly error: unknown;
}

/** The current state of a candidate. */
export interface LeaderStatus {
  /** The role: see the table at {@link OracleLeader}. */
  readonly role: "idle" | "standby" | "leading" | "stopped";
  /**
   * While this candidate leads, the epoch of its leadership. Otherwise the last epoch that it saw,
   * or 0 if it has seen none.
   */
  readonly epoch: number;
  /** The leader's name. Undefined if this candidate does not know it. */
  readonly leader: string | undefined;
}

/** The options with all defaults. */
export interface LeaderSettings {
  readonly name: string;
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  readonly lookEveryMs: number;
  readonly windowUs: number;
  readonly maximumDrift: number;
  readonly requestTimeoutMs: number;
  readonly maxAtOnce: number;
  readonly maxWaiting: number;
}

const maxMs = 86_400_000;

export function leaderSettings(options: OracleLeaderOptions): LeaderSettings {
  const { name } = options;
  if (typeof name !== "string" || name.length === 0 || name.length > 1_000) {
    throw new InvalidArgumentError(
      "A candidate for the oracle's lease must have a `name` of 1 to 1,000 characters.",
    );
  }
  const leaseMs = options.leaseMs ?? 10_000;
  checkRange("leaseMs", leaseMs, 1, maxMs);
  const renewEveryMs = options.renewEveryMs ?? leaseMs / 4;
  checkRange("renewEveryMs", renewEveryMs, 0.001, leaseMs * 0.9);
  const lookEveryMs = options.lookEveryMs ?? renewEveryMs;
  checkRange("lookEveryMs", lookEveryMs, 0.001, maxMs);
  const windowMs = options.windowMs ?? 10_000;
  checkRange("windowMs", windowMs, 0.001, maxMs);
  const windowUs = Math.ceil(windowMs * 1_000);
  const maximumDrift = options.maximumDrift ?? 0.05;
  checkRange("maximumDrift", maximumDrift, 0, 1);
  const requestTimeoutMs = options.requestTimeoutMs ?? leaseMs / 4;
  checkRange("requestTimeoutMs", requestTimeoutMs, 0.001, maxMs);
  const maxAtOnce = options.maxAtOnce ?? Math.min(100_000, windowUs);
  checkWhole("maxAtOnce", maxAtOnce, windowUs);
  const maxWaiting = options.maxWaiting ?? 10_000;
  checkWhole("maxWaiting", maxWaiting, 10_000_000);
  return {
    name,
    leaseMs,
    renewEveryMs,
    lookEveryMs,
    windowUs,
    maximumDrift,
    requestTimeoutMs,
    maxAtOnce,
    maxWaiting,
  };
}

/** Throws an InvalidArgumentError unless the option is a number from `least` to `most`. */
export function checkRange(option: string, value: number, least: number, most: number): void {
  if (value >= least && value <= most) return;
  throw new InvalidArgumentError(
    `\`${option}\` must be a number from ${least} to ${most}, not ${String(value)}.`,
  );
}

/** Throws an InvalidArgumentError unless the option is a whole number from 1 to `most`. */
export function checkWhole(option: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new InvalidArgumentError(
    `\`${option}\` must be a whole number from 1 to ${most}, not ${String(value)}.`,
  );
}
