/** What is told of an iteration. */
export interface IterationListener<T> {
  /** An item is about to be given. */
  item(item: T): void;
  /** The iterator said that there is no more, without having been left. */
  end(): void;
}

/** Passes an iterator on, and tells a listener what it gave. */
export class RecordedIterator<T> implements AsyncIterableIterator<T> {
  readonly #inner: AsyncIterableIterator<T>;
  readonly #listener: IterationListener<T>;
  #left = false;

  constructor(inner: AsyncIterableIterator<T>, listener: IterationListener<T>) {
    this.#inner = inner;
    this.#listener = listener;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T>> {
    const result = await this.#inner.next();
    if (!result.done) this.#listener.item(result.value);
    else if (!this.#left) this.#listener.end();
    return result;
  }

  async return(): Promise<IteratorResult<T>> {
    this.#left = true;
    return (await this.#inner.return?.()) ?? { done: true, value: undefined };
  }
}
