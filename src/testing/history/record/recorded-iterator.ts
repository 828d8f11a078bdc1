/** Receives the events of an iteration. */
export interface IterationListener<T> {
  /** Called before the iterator returns an item. */
  item(item: T): void;
  /**
   * Called when the iterator reports its end. Not called if the caller leaves the iteration early.
   */
  end(): void;
}

/** Wraps an iterator, and tells a listener what it returned. */
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
