import type { Environment } from "./environment.js";

/** A moment on both clocks, in milliseconds. */
export interface ClockReading {
  readonly monotonic: number;
  readonly wall: number;
}

/** Before every other moment. */
export const longAgo: ClockReading = Object.freeze({
  monotonic: Number.NEGATIVE_INFINITY,
  wall: Number.NEGATIVE_INFINITY,
});

export function readClocks(environment: Environment): ClockReading {
  return { monotonic: environment.monotonic(), wall: environment.now() };
}

/**
 * Milliseconds from one moment to another, by the clock on which more time passed. The monotonic
 * clock may stop while a machine sleeps. The wall clock may jump back, or show nothing.
 */
export function elapsedMs(from: ClockReading, to: ClockReading): number {
  const monotonic = to.monotonic - from.monotonic;
  const wall = to.wall - from.wall;
  return wall > monotonic ? wall : monotonic;
}
