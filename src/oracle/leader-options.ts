import type { Environment } from "../environment/index.js";
import { InvalidArgumentError } from "../errors/index.js";
import type { RowStore } from "../store/index.js";

/** What a candidate for leadership over an oracle is made of. */
export interface OracleLeaderOptions {
  /** Holds the row with the lease and the high-water mark. All candidates of an oracle share it. */
  readonly store: RowStore;
  readonly environment: Environment;
  /**
   * By which clients know this candidate, an address for example. At most 1,000 characters, none of
   * two candidates alike.
   */
  readonly name: string;
  /**
   * Length of a lease, in milliseconds: about as long is nobody leading after a leader has died.
   * Default: 10,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How often the lease is renewed, in milliseconds; less than the lease. Default: a quarter of it.
   */
  readonly renewEveryMs?: number | undefined;
  /**
   * How often a standby looks whether the lease was given back, in milliseconds, at most. Default:
   * as often as it is renewed.
   */
  readonly lookEveryMs?: number | undefined;
  /**
   * How far the high-water mark is raised ahead, in milliseconds: 1,000 timestamps each. Default:
   * 10,000.
   */
  readonly windowMs?: number | undefined;
  /**
   * How much faster this machine's monotonic clock may run than another's, as a fraction; so much
   * longer than the lease is waited before it is taken over. Default: 0.05.
   */
  readonly maximumDrift?: number | undefined;
  /**
   * How long to wait for the store's answer to one request, in milliseconds. Default: a quarter of
   * the lease.
   */
  readonly requestTimeoutMs?: number | undefined;
  /**
   * The most timestamps of one request; no more than a window has. Default: 100,000, or the window.
   */
  readonly maxAtOnce?: number | undefined;
  /** The most requests that wait while the mark is raised. Default: 10,000. */
  readonly maxWaiting?: number | undefined;
  /** Told of each change of {@link OracleLeader.status}'s role, epoch or leader. Must not throw. */
  readonly onChange?: ((status: LeaderStatus) => void) | undefined;
  /** Told of each failure in the background; it is tried again by itself. Must not throw. */
  readonly onFailure?: ((failure: LeaderFailure) => void) | undefined;
}

/** A failure that nobody waits for. */
export interface LeaderFailure {
  readonly doing: string;
  readonly error: unknown;
}

/** What a candidate is at the moment. */
export interface LeaderStatus {
  /**
   * `idle` before it was started, `leading` also where the lease has run out and is not known to be
   * lost.
   */
  readonly role: "idle" | "standby" | "leading" | "stopped";
  /** The epoch of its own leading, or the last that it saw. 0: none. */
  readonly epoch: number;
  /** The leader's name, as far as is known. */
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
    throw new InvalidArgumentError("An oracle's candidate must have a `name` of 1 to 1,000 characters.");
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

/** Refuses an option that is no number from `least` to `most`. */
export function checkRange(option: string, value: number, least: number, most: number): void {
  if (value >= least && value <= most) return;
  throw new InvalidArgumentError(
    `\`${option}\` must be a number from ${least} to ${most}, not ${String(value)}.`,
  );
}

/** Refuses an option that is no whole number from 1 to `most`. */
export function checkWhole(option: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new InvalidArgumentError(
    `\`${option}\` must be a whole number from 1 to ${most}, not ${String(value)}.`,
  );
}
