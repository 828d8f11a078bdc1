/** `percolatordb/live/preact`: live queries in components of Preact. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type LiveHooks, makeUseLive, type UseLive } from "./use-live.js";

export type { LiveView, UseLive, UseLiveOptions } from "./use-live.js";

/**
 * Shows a live query in a component, and renders it again with each new value. All components with
 * the same address share one connection, with the options of the first of them. It ends when the last
 * of them is unmounted. Without an address, there is no connection.
 *
 * @example
 * const { value, error, isLoading } = useLive<typeof topOrders>("/live/top");
 */
export const useLive: UseLive = makeUseLive({ useMemo, useSyncExternalStore });

/** Preact has this hook only in `preact/compat`, which is larger than this whole client. */
function useSyncExternalStore<S>(
  subscribe: Parameters<LiveHooks["useSyncExternalStore"]>[0],
  getSnapshot: () => S,
): S {
  const [, renderAgain] = useState({});
  const shown = useRef<S>(undefined);
  shown.current = getSnapshot();
  useLayoutEffect(() => {
    const check = () => {
      if (getSnapshot() !== shown.current) renderAgain({});
    };
    const unsubscribe = subscribe(check);
    check();
    return unsubscribe;
  }, [subscribe, getSnapshot]);
  return shown.current as S;
}
