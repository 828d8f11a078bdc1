import type { Environment, Timer } from "../../environment/index.js";

/** A timer that a client has set. */
export interface SetTimer {
  readonly number: number;
  /** When the timer is due, in milliseconds of the world's time. */
  readonly due: number;
  readonly isBackground: boolean;
  readonly callback: () => void;
}

/** The time of an execution, shared by all clients. It advances only when a timer fires. */
export interface WorldTime {
  /** Milliseconds that have passed. */
  passed: number;
  /** Count of steps performed. */
  step: number;
}

/**
 * Wall-clock time at the start, in milliseconds since 1970. It is far above the timestamps of an
 * exploration, which begin at 1.
 */
const startOfTime = 1_700_000_000_000;

/** Far more waits than a setup or a healing needs. A worker that polls for ever has them soon. */
const maxWaits = 10_000;

/** The time, timers and names of a client of an exploration. Nothing in it is random. */
export class ClientEnvironment implements Environment {
  readonly processName: string;
  readonly timers = new Map<number, SetTimer>();
  /**
   * Whether time jumps to each timer as soon as it is set, so that no wait takes time, up to a number
   * of waits. Used for the setup, and while an execution is healed.
   */
  passTime = false;
  /** Called when the client reads a clock, if time has passed since it last read one. */
  onTime: (passed: number) => void = () => {};
  readonly #time: WorldTime;
  readonly #isRunning: (processName: string) => boolean | undefined;
  #seen = 0;
  #timersSet = 0;
  #waits = 0;
  #names = 0;
  #isStopped = false;

  constructor(
    name: string,
    time: WorldTime,
    isRunning: (processName: string) => boolean | undefined = () => undefined,
  ) {
    this.processName = name;
    this.#isRunning = isRunning;
    this.#time = time;
  }

  now(): number {
    return startOfTime + this.#look();
  }

  monotonic(): number {
    return this.#look();
  }

  #look(): number {
    const { passed } = this.#time;
    if (passed !== this.#seen) {
      this.#seen = passed;
      this.onTime(passed);
    }
    return passed;
  }

  random(): number {
    return 0.5;
  }

  uniqueId(): string {
    return `${this.processName}-${++this.#names}`;
  }

  isRunning(processName: string): boolean | undefined {
    return this.#isRunning(processName);
  }

  setTimer(callback: () => void, delayMs: number, options?: { background?: boolean }): Timer {
    const number = ++this.#timersSet;
    if (!this.#isStopped) {
      const due = this.#time.passed + Math.max(0, delayMs);
      const isBackground = options?.background ?? false;
      this.timers.set(number, { number, due, isBackground, callback });
      if (this.passTime && !isBackground && ++this.#waits <= maxWaits)
        queueMicrotask(() => this.timers.has(number) && this.fire(number));
    }
    return { cancel: () => this.timers.delete(number) };
  }

  defer(callback: () => void): void {
    queueMicrotask(callback);
  }

  /** Fires a timer, at its time or later. */
  fire(number: number): void {
    const timer = this.timers.get(number);
    if (timer === undefined) throw new Error(`${this.processName} has no timer ${number}.`);
    this.timers.delete(number);
    this.#time.passed = Math.max(this.#time.passed, timer.due);
    timer.callback();
  }

  /** Cancels all timers. */
  stop(): void {
    this.#isStopped = true;
    this.timers.clear();
  }
}
