/**
 * What a program takes from outside itself: time, randomness, timers. Everything in this package
 * takes them from here, so that a simulator can own them; nothing else may call `Date.now`,
 * `Math.random` or `setTimeout`.
 */
export interface Environment {
  /** Wall clock, in milliseconds since 1970, with a fraction. May jump either way. */
  now(): number;
  /**
   * Monotonic clock, in milliseconds from an arbitrary origin, with a fraction. Never goes back.
   */
  monotonic(): number;
  /** A number in [0, 1). Not for secrets. */
  random(): number;
  /** A string that no other process draws: sessions and processes are named by it. */
  uniqueId(): string;
  /** The name of this process, by which others on the machine may ask for it. */
  readonly processName: string;
  /**
   * Whether the process of that name still runs; undefined where that cannot be known, as of one on
   * another machine.
   */
  isRunning(processName: string): boolean | undefined;
  /**
   * Runs `callback` once after `delayMs` milliseconds, unless the handle is cancelled first.
   * With `background: true` the timer alone does not keep the process alive.
   */
  setTimer(callback: () => void, delayMs: number, options?: { background?: boolean }): Timer;
  /** Runs `callback` soon, after the event loop has had a turn to do I/O. */
  defer(callback: () => void): void;
}

/** A timer that stands. */
export interface Timer {
  /** Cancels the timer. Harmless after it has fired. */
  cancel(): void;
}
