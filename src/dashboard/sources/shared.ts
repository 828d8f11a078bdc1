import type { Environment } from "../../environment/index.js";

/** Work takes at most one part in four of the time. */
const restFactor = 4;

/**
 * A value that is computed once for all who ask, at most every `everyMs`, and less often if the
 * computation takes long. A failure is not kept: the next caller computes again.
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
