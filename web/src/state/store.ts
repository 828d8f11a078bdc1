import { useEffect, useState } from "preact/hooks";

/**
 * A value that changes outside of the component tree. Subscribers are called at most once per
 * frame.
 */
export class Store<T> {
  #value: T;
  readonly #watchers = new Set<() => void>();
  #frame: number | undefined;

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      for (const watcher of this.#watchers) watcher();
    });
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

/** Follows the value of a store. */
export function useStore<T>(store: Store<T>): T {
  const [, setSeen] = useState<{ readonly value: T }>(() => ({ value: store.value }));
  useEffect(() => {
    const follow = () => setSeen({ value: store.value });
    follow();
    return store.watch(follow);
  }, [store]);
  return store.value;
}
