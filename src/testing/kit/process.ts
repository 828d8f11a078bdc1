import type { Environment, Timer } from "../../environment/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import type { SeededRandom } from "../world/index.js";
import type { TestClock } from "./clock.js";

/** The options of a {@link TestProcess}. Each has a default. */
export interface TestProcessOptions {
  /** The name by which other processes refer to this one. Default: `process-` and a number. */
  readonly name?: string | undefined;
  /** How far its wall clock is ahead, in milliseconds. Default: 0. */
  readonly offsetMs?: number | undefined;
  /**
   * Milliseconds that its clocks advance in one millisecond of test time. With 1.01 they run fast.
   * Default: 1.
   */
  readonly rate?: number | undefined;
}

/**
 * The environment of one process in a test: clocks and timers that follow a {@link TestClock},
 * random numbers from the clock's seed, and names. It can be suspended for a while, or die. If it
 * shares a store with others, give it a `ProcessStore`, so that a suspended process sends and
 * receives nothing. `clock.process()` creates it.
 *
 * @example
 * const ahead = clock.process({ name: "ahead", offsetMs: 2_000, rate: 1.001 });
 * const db = await open(new ProcessStore(store, ahead), { environment: ahead });
 */
export class TestProcess implements Environment {
  readonly processName: string;
  readonly clock: TestClock;
  readonly #random: SeededRandom;
  readonly #rate: number;
  #offsetMs: number;
  #ids = 0;
  #state: "running" | "suspended" | "dead" = "running";
  #held: (() => void)[] = [];

  /** @internal */
  constructor(clock: TestClock, name: string, random: SeededRandom, options: TestProcessOptions) {
    const { offsetMs = 0, rate = 1 } = options;
    checkFinite("offsetMs", offsetMs);
    if (!(rate > 0 && Number.isFinite(rate)))
      throw new InvalidArgumentError(`\`rate\` must be a number above 0, not ${String(rate)}.`);
    this.processName = name;
    this.clock = clock;
    this.#random = random;
    this.#rate = rate;
    this.#offsetMs = offsetMs;
  }

  now(): number {
    const startMs = this.clock.now() - this.clock.passedMs;
    return startMs + this.#offsetMs + this.monotonic();
  }

  monotonic(): number {
    return this.clock.passedMs * this.#rate;
  }

  random(): number {
    return this.#random.next();
  }

  uniqueId(): string {
    return `${this.processName}-${++this.#ids}`;
  }

  isRunning(processName: string): boolean | undefined {
    return this.clock.isRunning(processName);
  }

  setTimer(callback: () => void, delayMs: number, options: { background?: boolean } = {}): Timer {
    if (this.isDead) return { cancel() {} };
    const passing = Math.max(0, delayMs) / this.#rate;
    return this.clock.setTimer(this, callback, passing, options.background ?? false);
  }

  defer(callback: () => void): void {
    if (this.isDead) return;
    this.clock.defer(() => this.#whenRunning(callback));
  }

  /** Moves its wall clock forward, or back if `byMs` is negative. Its timers do not change. */
  setClock(byMs: number): void {
    checkFinite("byMs", byMs);
    this.#offsetMs += byMs;
  }

  /** Whether it is suspended or dead. */
  get isSuspended(): boolean {
    return this.#state !== "running";
  }

  /** Whether it is dead. */
  get isDead(): boolean {
    return this.#state === "dead";
  }

  /**
   * Resolves at once while the process runs. While it is suspended, resolves when it resumes. Never
   * resolves once it is dead.
   */
  turn(): Promise<void> {
    return new Promise((resolve) => this.#whenRunning(resolve));
  }

  #whenRunning(go: () => void): void {
    if (this.#state === "running") go();
    else if (this.#state === "suspended") this.#held.push(go);
  }

  /**
   * Suspends the process, as a signal or a long pause of its machine would. Time passes for the
   * others.
   */
  suspend(): void {
    if (this.#state === "running") this.#state = "suspended";
  }

  /** Lets the process continue. Timers that are overdue fire when time next passes. */
  resume(): void {
    if (this.#state !== "suspended") return;
    this.#state = "running";
    for (const go of this.#held.splice(0)) go();
    this.clock.passByItself();
  }

  /**
   * Stops the process for good, at this moment. Its databases never close, so do not wait for that.
   */
  die(): void {
    this.#state = "dead";
    this.#held = [];
    this.clock.drop(this);
  }
}

function checkFinite(name: string, value: number): void {
  if (!Number.isFinite(value))
    throw new InvalidArgumentError(`\`${name}\` must be a number, not ${String(value)}.`);
}
