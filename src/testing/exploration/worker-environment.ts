import type { Environment, Timer } from "../../environment/index.js";

/**
 * The environment of a client's workers: its time, and timers that no step of an exploration fires. Polls never fire, since a worker of an
 * exploration looks when it is told to; what is put off has its time when the worker looks again.
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

  /** Only polls keep a process alive; all others are of tasks that are put off. */
  setTimer(callback: () => void, _delayMs: number, options?: { background?: boolean }): Timer {
    if (options?.background === true) this.#putOff.add(callback);
    return { cancel: () => this.#putOff.delete(callback) };
  }

  /** The time of all that was put off has come. */
  passTime(): void {
    const due = [...this.#putOff];
    this.#putOff.clear();
    for (const callback of due) callback();
  }
}
