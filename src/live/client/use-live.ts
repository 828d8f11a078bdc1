// From the index, which is a file of its own in the package: pages without a bundler can load it, and
// these hooks do not have a second copy of it.
import {
  type LiveClientOptions,
  type LiveError,
  type LiveState,
  type LiveSubscription,
  type LiveSubscriptionOptions,
  live,
  type ValueOf,
} from "./index.js";

/** What a component shows of a live query. */
export interface LiveView<T> {
  /** The newest value. Undefined until the first one arrives. It stays while the connection fails. */
  readonly value: T | undefined;
  /** The commit timestamp of the value, in microseconds since 1970. */
  readonly timestamp: number | undefined;
  /** The last failure. Undefined again after the next value. */
  readonly error: LiveError | undefined;
  readonly state: LiveState;
  /** Whether there is no value yet, and one may still come. */
  readonly isLoading: boolean;
}

/** The options of `useLive`. Each has a default. */
export type UseLiveOptions = Omit<LiveClientOptions, "onError" | "onState" | "signal">;

/**
 * Shows a live query in a component, and renders it again with each new value. All components with
 * the same address share one connection, with the options of the first of them. It ends when the last
 * of them is unmounted. Without an address, there is no connection.
 */
export type UseLive = <Q>(url: string | undefined, options?: UseLiveOptions) => LiveView<ValueOf<Q>>;

/** The hooks that {@link makeUseLive} needs: those of React 18 and later, and of what resembles it. */
export interface LiveHooks {
  useMemo<T>(make: () => T, dependencies: readonly unknown[]): T;
  useSyncExternalStore<S>(
    subscribe: (onChange: () => void) => () => void,
    getSnapshot: () => S,
    getServerSnapshot?: () => S,
  ): S;
}

const loading: LiveView<never> = Object.freeze({
  value: undefined,
  timestamp: undefined,
  error: undefined,
  state: "connecting",
  isLoading: true,
});
const nothing: LiveView<never> = Object.freeze({ ...loading, state: "closed", isLoading: false });

/** A connection that components share. */
interface Shared {
  view: LiveView<unknown>;
  readonly listeners: Set<() => void>;
  subscription: LiveSubscription<unknown> | undefined;
}

/** Makes the hook `useLive` of the hooks of a library such as React. */
export function makeUseLive({ useMemo, useSyncExternalStore }: LiveHooks): UseLive {
  const all = new Map<string, Shared>();
  const connect = (shared: Shared, url: string, options: UseLiveOptions) => {
    const change = (part: Partial<LiveView<unknown>>) => {
      const view = { ...shared.view, ...part };
      const isLoading = view.timestamp === undefined && view.state !== "closed";
      shared.view = { ...view, isLoading };
      for (const listener of [...shared.listeners]) listener();
    };
    const callbacks: LiveSubscriptionOptions<unknown> = {
      onValue: (received) => change({ ...received, error: undefined }),
      onError: (error) => change({ error }),
      onState: (state) => change({ state }),
    };
    change({ error: undefined, state: "connecting" });
    shared.subscription = live<unknown>(url, { ...options, ...callbacks });
  };
  const storeOf = (url: string | undefined, options: UseLiveOptions) => ({
    subscribe: (listener: () => void) => {
      if (url === undefined) return () => undefined;
      const shared = all.get(url) ?? { view: loading, listeners: new Set(), subscription: undefined };
      all.set(url, shared);
      // After a final failure, the next component that is mounted tries again.
      if (!shared.subscription || shared.view.state === "closed") connect(shared, url, options);
      shared.listeners.add(listener);
      return () => {
        shared.listeners.delete(listener);
        // A component that takes another's place in the same turn keeps the connection.
        queueMicrotask(() => {
          if (shared.listeners.size > 0 || all.get(url) !== shared) return;
          all.delete(url);
          shared.subscription?.close();
        });
      };
    },
    snapshot: () => (url === undefined ? nothing : (all.get(url)?.view ?? loading)),
  });
  return <Q>(url: string | undefined, options: UseLiveOptions = {}) => {
    const { subscribe, snapshot } = useMemo(() => storeOf(url, options), [url]);
    return useSyncExternalStore(subscribe, snapshot, snapshot) as LiveView<ValueOf<Q>>;
  };
}
