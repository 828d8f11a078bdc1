import type { Environment, Timer } from "../../../src/environment/index.js";

interface StandingTimer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

let ids = 0;

/** An environment whose time passes only when a test says so. Everything else runs by itself. */
export class TestEnvironment implements Environment {
  #now = 0;
  #timers = new Set<StandingTimer>();
  #order = 0;
  #seed = 1;
  readonly #start = 1_700_000_000_000;

  /** `passedMs`: how much time has passed already, for a process that starts later than another. */
  constructor(passedMs = 0) {
    this.#now = passedMs;
  }

  now(): number {
    return this.#start + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  random(): number {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed / 2 ** 32;
  }

  uniqueId(): string {
    return `id-${++ids}`;
  }

  readonly processName: string = "test";

  isRunning(_processName: string): boolean | undefined {
    return undefined;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const timer = { at: this.#now + Math.max(0, delayMs), order: this.#order++, callback };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  defer(callback: () => void): void {
    setImmediate(callback);
  }

  /** Runs everything that can run without time passing. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Lets time pass without running anything, as if the process was stopped. */
  freeze(ms: number): void {
    this.#now += ms;
  }

  /** Lets time pass, timer after timer. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.settle();
    for (;;) {
      const due = [...this.#timers]
        .filter((timer) => timer.at <= end)
        .sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.callback();
      await this.settle();
    }
    this.#now = end;
    await this.settle();
  }

  /**
   * Lets a millisecond pass with each turn of the event loop until a promise settles. Timers that
   * are due at the same time fire together, so their effects overlap.
   */
  async flow<T>(promise: Promise<T>): Promise<T> {
    let over = false;
    const watch = () => {
      over = true;
    };
    promise.then(watch, watch);
    while (!over) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#now++;
      for (const timer of [...this.#timers].sort((a, b) => a.at - b.at || a.order - b.order)) {
        if (timer.at <= this.#now && this.#timers.delete(timer)) timer.callback();
      }
    }
    return promise;
  }

  /** Lets time pass until a promise settles. */
  async until<T>(promise: Promise<T>, maxMs = 600_000): Promise<T> {
    let over = false;
    const watch = () => {
      over = true;
    };
    promise.then(watch, watch);
    await this.settle();
    for (let passed = 0; !over && passed < maxMs; passed += 10) await this.advance(10);
    return promise;
  }
}
