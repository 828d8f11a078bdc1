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
  /** Whether the last computation that has ended failed. */
  #hasFailed = false;

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
      this.#hasFailed = false;
    };
    const fail = () => {
      this.#value = undefined;
      this.#hasFailed = true;
    };
    value.then(succeed, fail);
    return value;
  }

  /**
   * The newest value. If a value is being computed, waits at most `patienceMs` for it. After that,
   * the computation continues for later calls. `isStale` says that the last computation failed, or
   * that one that an earlier call began has not ended yet. A value that was computed since the
   * earlier call is not stale, however long that takes.
   */
  async newest(patienceMs: number): Promise<{ readonly value: T | undefined; readonly isStale: boolean }> {
    const earlier = this.#isUnderWay ? this.#value : undefined;
    const ending = new AbortController();
    const late = sleep(this.#environment, patienceMs, ending.signal);
    await Promise.allSettled([Promise.race([this.get(), late])]);
    ending.abort();
    const isLate = this.#isUnderWay && this.#value === earlier;
    return { value: this.#known, isStale: this.#known === undefined || this.#hasFailed || isLate };
  }

  get #isUnderWay(): boolean {
    return this.#value !== undefined && this.#dueAt === Number.POSITIVE_INFINITY;
  }
}
