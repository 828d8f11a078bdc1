/**
 * What a program takes from outside itself: time, randomness, timers. Everything in this package
 * takes them from an `Environment`, so that a simulator can control them. No other code may call
 * `Date.now`, `Math.random` or `setTimeout`.
 */
export interface Environment {
  /** Wall clock, in milliseconds since 1970, with a fraction. It may jump in either direction. */
  now(): number;
  /**
   * Monotonic clock, in milliseconds from an arbitrary origin, with a fraction. Never goes back.
   */
  monotonic(): number;
  /** A number in [0, 1). Not for secrets. */
  random(): number;
  /** A string that no other process draws. It names sessions and processes. */
  uniqueId(): string;
  /** The name of this process. Other processes of the machine pass it to {@link isRunning}. */
  readonly processName: string;
  /**
   * Whether the process with this name still runs. Undefined if this process cannot know, for
   * example because that process is on another machine.
   */
  isRunning(processName: string): boolean | undefined;
  /**
   * Runs `callback` once after `delayMs` milliseconds, unless the timer is cancelled first. A timer
   * with `background: true` does not keep the process alive.
   */
  setTimer(callback: () => void, delayMs: number, options?: { background?: boolean }): Timer;
  /** Runs `callback` soon, after the event loop has had a turn to do I/O. */
  defer(callback: () => void): void;
  /**
   * Starts to measure how this process does. Undefined if it cannot be measured, as in a simulation.
   */
  readonly meter?: (() => ProcessMeter) | undefined;
}

/** Measures how a process does, until it is ended. */
export interface ProcessMeter {
  /** The figures since the call before. */
  read(): ProcessVitals;
  end(): void;
}

/** How a process does. */
export interface ProcessVitals {
  readonly upMs: number;
  /** The part of one processor that the process used: 0 to 1, or more with several threads. */
  readonly cpuShare: number;
  /** The longest delay of the event loop, in milliseconds. */
  readonly loopDelayMs: number;
  /** Heap and buffers of JavaScript, without files that the process maps. */
  readonly memoryBytes: number;
}

/** A timer that {@link Environment.setTimer} started. */
export interface Timer {
  /** Cancels the timer. Has no effect after the timer has fired. */
  cancel(): void;
}
