import { useEffect, useState } from "preact/hooks";

/** A value that changes from outside of the tree. Who watches is told once a frame, however often it changes. */
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

/** The value of a store, followed. */
export function useStore<T>(store: Store<T>): T {
  const [, setSeen] = useState<{ readonly value: T }>(() => ({ value: store.value }));
  useEffect(() => {
    const follow = () => setSeen({ value: store.value });
    follow();
    return store.watch(follow);
  }, [store]);
  return store.value;
}
