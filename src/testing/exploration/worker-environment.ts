import type { Environment, Timer } from "../../environment/index.js";

/**
 * The environment of a client's workers. It has the client's time, but no step of an exploration
 * fires its timers. Polls never fire, because the explorer tells a worker when to scan. Retries
 * become due at the next scan.
 */
export class WorkerEnvironment implements Environment {
  readonly #environment: Environment;
  readonly #putOff = new Set<() => void>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  get processName(): string {
    return this.#environment.processName;
  }

  now(): number {
    return this.#environment.now();
  }

  monotonic(): number {
    return this.#environment.monotonic();
  }

  random(): number {
    return this.#environment.random();
  }

  uniqueId(): string {
    return this.#environment.uniqueId();
  }

  isRunning(processName: string): boolean | undefined {
    return this.#environment.isRunning(processName);
  }

  defer(callback: () => void): void {
    this.#environment.defer(callback);
  }

  /**
   * Keeps the background timers, which belong to retries. All other timers belong to polls, and
   * never fire.
   */
  setTimer(callback: () => void, _delayMs: number, options?: { background?: boolean }): Timer {
    if (options?.background === true) this.#putOff.add(callback);
    return { cancel: () => this.#putOff.delete(callback) };
  }

  /** Makes all waiting retries due. */
  passTime(): void {
    const due = [...this.#putOff];
    this.#putOff.clear();
    for (const callback of due) callback();
  }
}
