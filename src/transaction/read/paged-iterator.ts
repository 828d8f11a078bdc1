/** A page of a scan: finished items, or rows that become items when the caller reaches them. */
export type Page<P, T> = { readonly items: readonly T[] } | { readonly rows: readonly P[] };

/**
 * Turns the pages of a scan into single items, as the iterator that `scan` and `entries` return.
 * Hand-written, because an async generator costs more per item.
 */
export class PagedIterator<P, T> implements AsyncIterableIterator<T> {
  readonly #nextPage: () => Promise<Page<P, T> | undefined>;
  readonly #convert: (item: P) => T;
  /** Each page fills one of these two. */
  #items: readonly T[] = [];
  #rows: readonly P[] = [];
  #index = 0;
  #left: number;
  #failed = false;
  /**
   * The newest call that waits for a page. Later calls wait for it, so that only one call at a time
   * reads a page.
   */
  #waiting: Promise<unknown> | undefined;

  /** `limit`: the maximum number of items. */
  constructor(nextPage: () => Promise<Page<P, T> | undefined>, convert: (item: P) => T, limit: number) {
    this.#nextPage = nextPage;
    this.#convert = convert;
    this.#left = limit;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * May be called again before the last call is answered. Each call still gets its own item, in the
   * order of the calls.
   */
  next(): Promise<IteratorResult<T>> {
    return this.#waiting === undefined ? this.#next() : this.#wait(this.#waiting);
  }

  #next(): Promise<IteratorResult<T>> {
    if (this.#left > 0 && this.#index < this.#items.length) {
      this.#left--;
      return Promise.resolve({ done: false, value: this.#items[this.#index++]! });
    }
    if (this.#left <= 0) return Promise.resolve({ done: true, value: undefined });
    if (this.#index < this.#rows.length) return this.#take();
    return this.#wait(undefined);
  }

  /** Answers after the call before it. */
  #wait(before: Promise<unknown> | undefined): Promise<IteratorResult<T>> {
    const next = () => (this.#index < this.#items.length + this.#rows.length ? this.#next() : this.#fetch());
    const answer = before === undefined ? this.#fetch() : before.then(next, next);
    const end = () => {
      if (this.#waiting === answer) this.#waiting = undefined;
    };
    this.#waiting = answer;
    answer.then(end, end);
    return answer;
  }

  return(): Promise<IteratorResult<T>> {
    this.#left = 0;
    this.#show(undefined);
    return Promise.resolve({ done: true, value: undefined });
  }

  #take(): Promise<IteratorResult<T>> {
    const row = this.#rows[this.#index++]!;
    this.#left--;
    try {
      return Promise.resolve({ done: false, value: this.#convert(row) });
    } catch (error) {
      this.#left = 0;
      return Promise.reject(error as Error);
    }
  }

  async #fetch(): Promise<IteratorResult<T>> {
    if (this.#failed || this.#left <= 0) return { done: true, value: undefined };
    try {
      do {
        const page = await this.#nextPage();
        this.#show(page);
        if (page === undefined) {
          this.#left = 0;
          return { done: true, value: undefined };
        }
        // `return` may have been called meanwhile.
      } while (this.#left > 0 && this.#items.length + this.#rows.length === 0);
    } catch (error) {
      this.#failed = true;
      throw error;
    }
    return this.#next();
  }

  #show(page: Page<P, T> | undefined): void {
    this.#items = page !== undefined && "items" in page ? page.items : [];
    this.#rows = page !== undefined && "rows" in page ? page.rows : [];
    this.#index = 0;
  }
}
