import type { Environment, Timer } from "../../../environment/index.js";
import type { SeededRandom } from "../../world/index.js";
import type { World } from "./world.js";

/** How a machine's clocks differ from the world's time. */
export interface Clocks {
  /** How far the wall clock is ahead, in milliseconds. */
  readonly offsetMs: number;
  /** Milliseconds that its clocks advance while the world's time advances by one. */
  readonly rate: number;
}

export const trueClocks: Clocks = Object.freeze({ offsetMs: 0, rate: 1 });

/** The wall-clock time when a run begins, in milliseconds since 1970: 2023-11-14. */
const startOfTime = 1_700_000_000_000;

/**
 * The environment of one simulated process. It may pause, or stop for good, between any two events.
 */
export class Machine implements Environment {
  readonly processName: string;
  /** Count of its events so far. */
  happened = 0;
  /** World time until which it is paused. */
  pausedUntil = 0;
  /** World time until which nothing that it sends arrives. */
  cutUntil = 0;
  #isStopped = false;
  #names = 0;
  #offsetMs: number;
  readonly #rate: number;
  readonly #world: World;
  readonly #random: SeededRandom;

  constructor(world: World, name: string, clocks: Clocks = trueClocks) {
    this.processName = name;
    this.#world = world;
    this.#offsetMs = clocks.offsetMs;
    this.#rate = clocks.rate;
    this.#random = world.random.fork(`machine/${name}`);
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  now(): number {
    return startOfTime + this.#offsetMs + this.#world.time * this.#rate;
  }

  monotonic(): number {
    return this.#world.time * this.#rate;
  }

  random(): number {
    return this.#random.next();
  }

  uniqueId(): string {
    return `${this.processName}-${++this.#names}`;
  }

  isRunning(processName: string): boolean | undefined {
    return this.#world.isRunning(processName);
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    if (this.#isStopped) return { cancel() {} };
    const at = this.#world.time + Math.max(0, delayMs) / this.#rate;
    const event = this.#world.plan(at, "timer", this, callback);
    return {
      cancel() {
        event.isCancelled = true;
      },
    };
  }

  defer(callback: () => void): void {
    this.#world.plan(this.#world.time, "timer", this, callback);
  }

  /** Moves its wall clock forward or back. */
  setClock(byMs: number): void {
    this.#offsetMs += byMs;
  }

  /** Stops the machine. It has no more events, but what it has sent still arrives. */
  stop(): void {
    this.#isStopped = true;
  }
}
