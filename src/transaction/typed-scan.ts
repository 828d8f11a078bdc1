/** Turns pages into single items; the quickest way through an async iterable. */
export class PagedIterator<P, T> implements AsyncIterableIterator<T> {
  readonly #nextPage: () => Promise<readonly P[] | undefined>;
  readonly #convert: (item: P) => T;
  #page: readonly P[] = [];
  #index = 0;
  #left: number;
  #failed = false;

  /** `limit`: the most items. */
  constructor(nextPage: () => Promise<readonly P[] | undefined>, convert: (item: P) => T, limit: number) {
    this.#nextPage = nextPage;
    this.#convert = convert;
    this.#left = limit;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#left <= 0) return Promise.resolve({ done: true, value: undefined });
    if (this.#index >= this.#page.length) return this.#fetch();
    return this.#take();
  }

  return(): Promise<IteratorResult<T>> {
    this.#left = 0;
    this.#page = [];
    return Promise.resolve({ done: true, value: undefined });
  }

  #take(): Promise<IteratorResult<T>> {
    const item = this.#page[this.#index++]!;
    this.#left--;
    try {
      return Promise.resolve({ done: false, value: this.#convert(item) });
    } catch (error) {
      this.#left = 0;
      return Promise.reject(error as Error);
    }
  }

  async #fetch(): Promise<IteratorResult<T>> {
    if (this.#failed) return { done: true, value: undefined };
    try {
      do {
        const page = await this.#nextPage();
        if (page === undefined) {
          this.#left = 0;
          this.#page = [];
          return { done: true, value: undefined };
        }
        this.#page = page;
      } while (this.#page.length === 0);
    } catch (error) {
      this.#failed = true;
      throw error;
    }
    this.#index = 0;
    return this.#take();
  }
}
