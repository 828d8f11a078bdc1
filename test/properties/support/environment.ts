import { type Environment, systemEnvironment, type Timer } from "percolatordb";

const startMs = 1_700_000_000_000;
/** The factor by which waits are shorter than requested. */
const hurry = 100;

/**
 * The system environment, except that its wall clock stands still until it is advanced, and that
 * its timers fire early.
 */
export class SteppedEnvironment implements Environment {
  #nowMs = startMs;
  readonly #flows: boolean;
  #seed = 1;
  readonly processName = "properties";

  /** `flows`: the wall clock runs by itself, at the speed of the timers. */
  constructor(flows = false) {
    this.#flows = flows;
  }

  now(): number {
    return this.#nowMs + (this.#flows ? this.monotonic() : 0);
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }

  monotonic(): number {
    return systemEnvironment.monotonic() * hurry;
  }

  random(): number {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed / 2 ** 32;
  }

  uniqueId(): string {
    return systemEnvironment.uniqueId();
  }

  isRunning(): undefined {
    return undefined;
  }

  setTimer(callback: () => void, delayMs: number, options?: { background?: boolean }): Timer {
    return systemEnvironment.setTimer(callback, delayMs / hurry, options);
  }

  defer(callback: () => void): void {
    systemEnvironment.defer(callback);
  }
}
