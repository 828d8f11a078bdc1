import { type Environment, sleep } from "../../environment/index.js";

/**
 * A computation that took t is not repeated until 4 t have passed since it began. Computing thus
 * takes at most a quarter of the time.
 */
const restFactor = 4;

/**
 * A value that all callers share. It is computed at most every `everyMs`, and less often if the
 * computation takes long. A failure is not kept: the next call computes the value again.
 */
export class Shared<T> {
  readonly #environment: Environment;
  readonly #everyMs: number;
  readonly #work: () => Promise<T>;
  #value: Promise<T> | undefined;
  #dueAt = Number.NEGATIVE_INFINITY;
  #known: T | undefined;

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
    const succeed = (known: T) => {
      const tookMs = this.#environment.monotonic() - begunAt;
      this.#dueAt = begunAt + Math.max(this.#everyMs, tookMs * restFactor);
      this.#known = known;
    };
    const fail = () => {
      this.#value = undefined;
    };
    value.then(succeed, fail);
    return value;
  }

  /**
   * The newest value. If a value is being computed, waits at most `patienceMs` for it. After that,
   * the computation continues for later calls. `isStale` says that the computation is late or has
   * failed.
   */
  async newest(patienceMs: number): Promise<{ readonly value: T | undefined; readonly isStale: boolean }> {
    const ending = new AbortController();
    const late = sleep(this.#environment, patienceMs, ending.signal);
    await Promise.allSettled([Promise.race([this.get(), late])]);
    ending.abort();
    const isStale = this.#value === undefined || this.#dueAt === Number.POSITIVE_INFINITY;
    return { value: this.#known, isStale };
  }
}
