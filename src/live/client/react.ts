/** `percolatordb/live/react`: live queries in components of React 18 and later. */
import { useMemo, useSyncExternalStore } from "react";
import { makeUseLive, type UseLive } from "./use-live.js";

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
