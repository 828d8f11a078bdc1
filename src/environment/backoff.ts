import type { Environment } from "./environment.js";

/** How long to wait between attempts. The wait doubles with each attempt, up to a maximum. */
export interface Backoff {
  /** Longest wait before the second attempt, in milliseconds. */
  readonly initialMs: number;
  /** Longest wait before any attempt, in milliseconds. */
  readonly maximumMs: number;
}

/**
 * Milliseconds to wait after `attempt` failed attempts (from 1). The wait grows exponentially, and
 * half of it is jitter, so that callers that collided do not collide again.
 */
export function backoffDelay(environment: Environment, backoff: Backoff, attempt: number): number {
  const ceiling = Math.min(backoff.maximumMs, backoff.initialMs * 2 ** Math.min(attempt - 1, 40));
  return ceiling / 2 + (ceiling / 2) * environment.random();
}
