import type { Environment, Timer } from "../../environment/index.js";

/** A timer that a client has set. */
export interface SetTimer {
  readonly number: number;
  /** Of the world's time, in milliseconds. */
  readonly due: number;
  readonly isBackground: boolean;
  readonly callback: () => void;
}

/** The time of an execution, the same for all clients: it stands still but where a timer fires. */
export interface WorldTime {
  /** Milliseconds that have passed. */
  passed: number;
  /** Steps that were done. */
  step: number;
}

/** Wall clocks begin here, far above the timestamps of an exploration, which count from 1. */
const startOfTime = 1_700_000_000_000;

/** A client's time, timers and names; nothing in it is random. */
export class ClientEnvironment implements Environment {
  readonly processName: string;
  readonly timers = new Map<number, SetTimer>();
  /** Whoever waits does not wait: time passes to the timer at once. For who heals an execution. */
  passTime = false;
  /** Told when the client looks at a clock that shows another time than when it last looked. */
  onTime: (passed: number) => void = () => {};
  readonly #time: WorldTime;
  readonly #isRunning: (processName: string) => boolean | undefined;
  #seen = 0;
  #timersSet = 0;
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
      if (this.passTime && !isBackground) queueMicrotask(() => this.timers.has(number) && this.fire(number));
    }
    return { cancel: () => this.timers.delete(number) };
  }

  defer(callback: () => void): void {
    queueMicrotask(callback);
  }

  /** Fires a timer, at its time or later. */
  fire(number: number): void {
    const timer = this.timers.get(number);
    if (timer === undefined) throw new Error(`There is no timer ${number} of ${this.processName}.`);
    this.timers.delete(number);
    this.#time.passed = Math.max(this.#time.passed, timer.due);
    timer.callback();
  }

  /** No timer fires any more. */
  stop(): void {
    this.#isStopped = true;
    this.timers.clear();
  }
}
