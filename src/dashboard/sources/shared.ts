import type { Environment } from "../../environment/index.js";

/** Of its own time, work may take no more than one part in so many. */
const restFactor = 4;

/**
 * What several ask for and is worked out once for all of them, not more often than every so many milliseconds, and more seldom where it
 * takes long. One that failed counts for nobody after it.
 */
export class Shared<T> {
  readonly #environment: Environment;
  readonly #everyMs: number;
  readonly #work: () => Promise<T>;
  #value: Promise<T> | undefined;
  #dueAt = Number.NEGATIVE_INFINITY;

  constructor(environment: Environment, everyMs: number, work: () => Promise<T>) {
    this.#environment = environment;
    this.#everyMs = everyMs;
    this.#work = work;
  }

  get(): Promise<T> {
    const begunAt = this.#environment.monotonic();
    if (this.#value !== undefined && begunAt < this.#dueAt) return this.#value;
    const value = this.#work();
    this.#value = value;
    this.#dueAt = Number.POSITIVE_INFINITY;
    const settled = () => {
      const tookMs = this.#environment.monotonic() - begunAt;
      this.#dueAt = begunAt + Math.max(this.#everyMs, tookMs * restFactor);
    };
    value.then(settled, () => {
      if (this.#value === value) this.#value = undefined;
    });
    return value;
  }
}
