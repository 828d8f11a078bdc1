import { systemEnvironment, type Timer } from "../../environment/index.js";
import {
  checkOptionNames,
  InvalidArgumentError,
  type OptionNames,
  TimeoutError,
} from "../../errors/index.js";
import { SeededRandom } from "../world/index.js";
import { TestProcess, type TestProcessOptions } from "./process.js";

/** The options of a {@link TestClock}. Each has a default. */
export interface TestClockOptions {
  /**
   * Whether time passes by itself, from timer to timer, while a process waits for a timer and
   * nothing else can run. Background timers do not count. Default: false, so time passes only when
   * a test advances the clock.
   */
  readonly passesByItself?: boolean | undefined;
  /**
   * Whether processes can tell which other processes still run, as on one machine. Default: false,
   * so they know only what the store says, as on several machines.
   */
  readonly oneMachine?: boolean | undefined;
  /** The wall-clock time at the start, in milliseconds since 1970. Default: 1,700,000,000,000. */
  readonly startMs?: number | undefined;
  /** The seed of all processes' random numbers. Default: `"1"`. */
  readonly seed?: string | undefined;
}

const clockNames: OptionNames<TestClockOptions> = {
  passesByItself: true,
  oneMachine: true,
  startMs: true,
  seed: true,
};
const processNames: OptionNames<TestProcessOptions> = { name: true, offsetMs: true, rate: true };

/** The options of {@link TestClock.until}. Each has a default. */
export interface UntilOptions {
  /** Most time that may pass, in milliseconds. Default: 600,000. */
  readonly maxMs?: number | undefined;
}

interface StandingTimer {
  readonly at: number;
  readonly order: number;
  readonly isBackground: boolean;
  readonly process: TestProcess;
  readonly callback: () => void;
}

/** Turns of the event loop without activity before time passes. */
const quietTurns = 3;
/**
 * How often the clock lets all work settle and finds no timer, before it concludes that nothing
 * more will happen.
 */
const maxIdleTurns = 100;

/**
 * Time for tests, shared by any number of processes. It stands still until a test lets it pass, and
 * then jumps from timer to timer. A backoff of a minute takes no real time, and no test depends on
 * the speed of a machine. Wrap work that takes real time, such as disk I/O, in {@link during}. The
 * clock waits for everything else before time passes.
 *
 * @example
 * const clock = new TestClock();
 * const db = await open("memory:", { environment: clock.process(), observers: [flaky] });
 * await db.transact((tx) => tx.set(documents.text, "a", "hello"));
 * await clock.until(db.drain()); // all retries, with the waits between them
 * await clock.advance(3_600_000);
 */
export class TestClock {
  readonly #options: TestClockOptions;
  readonly #startMs: number;
  readonly #random: SeededRandom;
  readonly #timers = new Set<StandingTimer>();
  readonly #processes = new Map<string, TestProcess>();
  #passedMs = 0;
  #order = 0;
  /**
   * Count of tasks in progress that take no time: requests, and callbacks after a turn of the event
   * loop.
   */
  #underWay = 0;
  #moves = 0;
  #passes = false;

  constructor(options: TestClockOptions = {}) {
    checkOptionNames("TestClock", options, clockNames);
    const { startMs = 1_700_000_000_000 } = options;
    if (!Number.isFinite(startMs))
      throw new InvalidArgumentError(`\`startMs\` must be a number, not ${startMs}.`);
    this.#options = options;
    this.#startMs = startMs;
    this.#random = new SeededRandom(options.seed ?? "1");
  }

  /** Milliseconds that have passed. */
  get passedMs(): number {
    return this.#passedMs;
  }

  /**
   * Returns the true time, in milliseconds since 1970, as a wall clock without an offset shows it.
   */
  now(): number {
    return this.#startMs + this.#passedMs;
  }

  /**
   * Creates another process that uses this clock. Give it to `open` as the `environment`.
   *
   * @throws InvalidArgumentError if another process has had the name, or if an option is unknown or
   * invalid.
   */
  process(options: TestProcessOptions = {}): TestProcess {
    checkOptionNames("process", options, processNames);
    const name = options.name ?? this.#freeName();
    if (this.#processes.has(name))
      throw new InvalidArgumentError(
        `The test clock already has a process "${name}". Give each process its own name.`,
      );
    const process = new TestProcess(this, name, this.#random.fork(name), options);
    this.#processes.set(name, process);
    return process;
  }

  #freeName(): string {
    for (let number = this.#processes.size + 1; ; number++) {
      const name = `process-${number}`;
      if (!this.#processes.has(name)) return name;
    }
  }

  /**
   * Lets time pass. Fires one timer after another, and lets the effects of each finish before the
   * next.
   */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0 && Number.isFinite(ms)))
      throw new InvalidArgumentError(`Time passes by a number of milliseconds from 0, not by ${String(ms)}.`);
    const end = this.#passedMs + ms;
    await this.settle();
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      this.#fire(next);
      await this.settle();
    }
    this.#passedMs = Math.max(this.#passedMs, end);
  }

  /**
   * Lets time pass, from timer to timer, until a promise settles. Resolves or rejects as the
   * promise does.
   *
   * @throws TimeoutError if the promise has not settled after `maxMs`, or if no timer is left that
   * could settle it.
   */
  async until<T>(promise: Promise<T>, options: UntilOptions = {}): Promise<T> {
    const { maxMs = 600_000 } = options;
    if (!(maxMs >= 0))
      throw new InvalidArgumentError(`\`maxMs\` must be a number of at least 0, not ${String(maxMs)}.`);
    const end = this.#passedMs + maxMs;
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    promise.then(over, over);
    for (let idle = 0; ; ) {
      await this.settle();
      if (isOver) return promise;
      const next = this.#next();
      if (next === undefined) {
        if (++idle < maxIdleTurns) continue;
        throw new TimeoutError(
          "The promise of the test is not settled, and no timer is set, so more time does not help. If something takes real time, " +
            "wrap it in `during`.",
        );
      }
      if (next.at > end)
        throw new TimeoutError(`The promise of the test is still not settled after ${maxMs} ms.`);
      idle = 0;
      this.#fire(next);
    }
  }

  /** Resolves when nothing more can happen unless time passes. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns; ) {
      const before = this.#moves;
      await new Promise<void>((resolve) => systemEnvironment.defer(resolve));
      quiet = this.#underWay > 0 || this.#moves !== before ? 0 : quiet + 1;
    }
  }

  /** Stops time until a promise of work that takes real time settles. */
  async during<T>(underWay: Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      return await underWay;
    } finally {
      this.#underWay--;
      this.#moves++;
    }
  }

  /** Whether a process still runs, as far as another process can tell. @internal */
  isRunning(name: string): boolean | undefined {
    if (this.#options.oneMachine !== true) return undefined;
    const process = this.#processes.get(name);
    return process === undefined ? undefined : !process.isDead;
  }

  /** @internal */
  setTimer(process: TestProcess, callback: () => void, delayMs: number, isBackground: boolean): Timer {
    const timer = { at: this.#passedMs + delayMs, order: this.#order++, isBackground, process, callback };
    this.#timers.add(timer);
    this.passByItself();
    return { cancel: () => this.#timers.delete(timer) };
  }

  /** @internal */
  defer(callback: () => void): void {
    this.#underWay++;
    systemEnvironment.defer(() => {
      this.#underWay--;
      this.#moves++;
      callback();
    });
  }

  /** Drops the timers and callbacks of a process that has died. @internal */
  drop(process: TestProcess): void {
    for (const timer of this.#timers) if (timer.process === process) this.#timers.delete(timer);
  }

  #next(): StandingTimer | undefined {
    let first: StandingTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.process.isSuspended) continue;
      const isEarlier =
        first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order);
      if (isEarlier) first = timer;
    }
    return first;
  }

  #fire(timer: StandingTimer): void {
    this.#timers.delete(timer);
    this.#passedMs = Math.max(this.#passedMs, timer.at);
    timer.callback();
  }

  #isWaitedFor(): boolean {
    for (const { isBackground, process } of this.#timers)
      if (!isBackground && !process.isSuspended) return true;
    return false;
  }

  /**
   * Lets time pass by itself if `passesByItself` is set and a process waits for a timer. @internal
   */
  passByItself(): void {
    if (this.#options.passesByItself !== true || this.#passes || !this.#isWaitedFor()) return;
    this.#passes = true;
    void this.#pass();
  }

  async #pass(): Promise<void> {
    for (;;) {
      await this.settle();
      const next = this.#isWaitedFor() ? this.#next() : undefined;
      if (next === undefined) break;
      this.#fire(next);
    }
    this.#passes = false;
  }
}
