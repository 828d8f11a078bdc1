import type { Environment, Timer } from "percolatordb";

interface StandingTimer {
  readonly at: number;
  readonly order: number;
  readonly background: boolean;
  readonly process: ProcessEnvironment;
  readonly callback: () => void;
}

/** Turns of the event loop in which nothing else may happen before time passes. */
const quietTurns = 3;

/**
 * Time that several processes share, and that passes by itself only when somebody waits for it and nobody has anything
 * else to do: it then jumps to the next timer. No test depends on how long anything takes.
 */
export class Clock {
  readonly #start = 1_700_000_000_000;
  readonly #timers = new Set<StandingTimer>();
  #passed = 0;
  #order = 0;
  #requests = 0;
  #turns: number | undefined;

  get passedMs(): number {
    return this.#passed;
  }

  now(): number {
    return this.#start + this.#passed;
  }

  /** Time stands while a request to a store is under way. */
  async during<T>(request: Promise<T>): Promise<T> {
    this.#requests++;
    try {
      return await request;
    } finally {
      this.#requests--;
    }
  }

  add(process: ProcessEnvironment, callback: () => void, delayMs: number, background: boolean): Timer {
    const at = this.#passed + Math.max(0, delayMs);
    const timer = { at, order: this.#order++, background, process, callback };
    this.#timers.add(timer);
    this.#watch();
    return { cancel: () => this.#timers.delete(timer) };
  }

  /** What waits in a process that is no more will not happen. */
  drop(process: ProcessEnvironment): void {
    for (const timer of this.#timers) if (timer.process === process) this.#timers.delete(timer);
  }

  /** Lets time pass, timer after timer. */
  async advance(ms: number): Promise<void> {
    const end = this.#passed + ms;
    await this.settle();
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      this.#fire(next);
      await this.settle();
    }
    this.#passed = Math.max(this.#passed, end);
  }

  /** Resolves when nothing goes on any more without time passing. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns; quiet++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#requests > 0) quiet = 0;
    }
  }

  /** Looks again when a process that was stopped goes on. */
  wake(): void {
    this.#watch();
  }

  #next(): StandingTimer | undefined {
    let first: StandingTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.process.isSuspended) continue;
      if (
        first === undefined ||
        timer.at < first.at ||
        (timer.at === first.at && timer.order < first.order)
      ) {
        first = timer;
      }
    }
    return first;
  }

  #fire(timer: StandingTimer): void {
    this.#timers.delete(timer);
    this.#passed = Math.max(this.#passed, timer.at);
    timer.callback();
  }

  #isWaitedFor(): boolean {
    for (const timer of this.#timers) if (!timer.background && !timer.process.isSuspended) return true;
    return false;
  }

  /** Goes on by itself while a timer stands for which somebody waits. */
  #watch(): void {
    if (this.#turns !== undefined || !this.#isWaitedFor()) return;
    this.#turns = 0;
    const turn = () => {
      this.#turns = this.#requests > 0 ? 0 : this.#turns! + 1;
      if (this.#turns >= quietTurns) {
        this.#turns = 0;
        const next = this.#isWaitedFor() ? this.#next() : undefined;
        if (next === undefined) {
          this.#turns = undefined;
          return;
        }
        this.#fire(next);
      }
      setImmediate(turn);
    };
    setImmediate(turn);
  }
}

let names = 0;

/** What one process takes from outside: the shared clock, until it is stopped for a while or for good. */
export class ProcessEnvironment implements Environment {
  readonly processName = `process-${++names}`;
  readonly #clock: Clock;
  #seed = names * 7_919;
  #ids = 0;
  #state: "running" | "suspended" | "dead" = "running";
  #held: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.passedMs;
  }

  random(): number {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed / 2 ** 32;
  }

  uniqueId(): string {
    return `${this.processName}-${++this.#ids}`;
  }

  /** Nobody can ask: only what a process leaves in the store tells of it. */
  isRunning(): undefined {
    return undefined;
  }

  setTimer(callback: () => void, delayMs: number, options: { background?: boolean } = {}): Timer {
    if (this.#state === "dead") return { cancel() {} };
    return this.#clock.add(this, callback, delayMs, options.background ?? false);
  }

  defer(callback: () => void): void {
    setImmediate(callback);
  }

  get isSuspended(): boolean {
    return this.#state !== "running";
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  /** Resolves while it runs; not before it goes on where it is suspended; never once it is dead. */
  turn(): Promise<void> {
    if (this.#state === "running") return Promise.resolve();
    return new Promise((resolve) => this.#held.push(resolve));
  }

  /** Stops everything of it, as a signal to the process would; time passes for the others. */
  suspend(): void {
    if (this.#state === "running") this.#state = "suspended";
  }

  resume(): void {
    if (this.#state !== "suspended") return;
    this.#state = "running";
    for (const go of this.#held.splice(0)) go();
    this.#clock.wake();
  }

  /** Stops it for good. */
  die(): void {
    this.#state = "dead";
    this.#clock.drop(this);
  }
}
