/** A page of a scan: items, or what each of them is made of when its turn comes. */
export type Page<P, T> = { readonly items: readonly T[] } | { readonly rows: readonly P[] };

/** Turns pages into single items; the quickest way through an async iterable. */
export class PagedIterator<P, T> implements AsyncIterableIterator<T> {
  readonly #nextPage: () => Promise<Page<P, T> | undefined>;
  readonly #convert: (item: P) => T;
  /** Of these two, one is filled at a time. */
  #items: readonly T[] = [];
  #rows: readonly P[] = [];
  #index = 0;
  #left: number;
  #failed = false;
  /** The last call that waits for a page. Further ones wait for it, so that no two read a page at a time. */
  #waiting: Promise<unknown> | undefined;

  /** `limit`: the most items. */
  constructor(nextPage: () => Promise<Page<P, T> | undefined>, convert: (item: P) => T, limit: number) {
    this.#nextPage = nextPage;
    this.#convert = convert;
    this.#left = limit;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** May be called again before it has answered: each item then comes once, in the order of the calls. */
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

  /** Answers when the call before it has been answered. */
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
      } while (this.#items.length + this.#rows.length === 0);
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
