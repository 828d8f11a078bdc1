import type { Environment, Timer } from "../../environment/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import type { SeededRandom } from "../world/index.js";
import type { TestClock } from "./clock.js";

/** What is special about a {@link TestProcess}. Everything has a default. */
export interface TestProcessOptions {
  /** Its name, by which it is asked for. Default: `process-` and a number. */
  readonly name?: string | undefined;
  /** How far its wall clock is ahead, in milliseconds. Default: 0. */
  readonly offsetMs?: number | undefined;
  /** Milliseconds that its clocks show while one passes: 1.01 is a clock that is too fast. Default: 1. */
  readonly rate?: number | undefined;
}

/**
 * What one process takes from outside itself, in a test: clocks and timers that follow a {@link TestClock}, random numbers that the
 * clock's seed decides, names. It can stand still for a while, and stop for good; give it a `ProcessStore` where it
 * shares a store with others, so that it then sends and hears nothing. Made by `clock.process()`.
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
    if (!Number.isFinite(offsetMs))
      throw new InvalidArgumentError(`\`offsetMs\` must be a number, not ${String(offsetMs)}.`);
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

  /** Sets its wall clock forward, or back where `byMs` is negative. Its timers do not change. */
  setClock(byMs: number): void {
    this.#offsetMs += byMs;
  }

  /** Whether nothing happens in it: for a while, or for good. */
  get isSuspended(): boolean {
    return this.#state !== "running";
  }

  /** Whether it has stopped for good. */
  get isDead(): boolean {
    return this.#state === "dead";
  }

  /** Resolves at once while it runs; when it goes on, where it is suspended; never, once it is dead. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.#whenRunning(resolve));
  }

  #whenRunning(go: () => void): void {
    if (this.#state === "running") go();
    else if (this.#state === "suspended") this.#held.push(go);
  }

  /** Lets it stand still, as a signal or a long pause of its machine would; time passes for the others. */
  suspend(): void {
    if (this.#state === "running") this.#state = "suspended";
  }

  /** Lets it go on. Timers that are overdue fire when time passes next. */
  resume(): void {
    if (this.#state !== "suspended") return;
    this.#state = "running";
    for (const go of this.#held.splice(0)) go();
    this.clock.passByItself();
  }

  /** Stops it for good, at this very moment. What it had open is never closed: do not wait for that. */
  die(): void {
    this.#state = "dead";
    this.#held = [];
    this.clock.drop(this);
  }
}
