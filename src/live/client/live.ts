import { decodeJson } from "./json.js";
import type { LiveClientOptions, LiveSubscription } from "./options.js";
import { subscribe } from "./subscribe.js";

/** The type of a live query's values: `ValueOf<typeof topOrders>`. Any other type is itself. */
export type ValueOf<Q> = Q extends (...parameters: never[]) => infer R ? Awaited<R> : Q;

/** A value of a live query, as of a commit timestamp. */
export interface LiveValue<T> {
  readonly value: T;
  /** Microseconds since 1970. */
  readonly timestamp: number;
}

/** The options of {@link live}. Each has a default. */
export interface LiveSubscriptionOptions<T> extends LiveClientOptions {
  /**
   * Called with each value. If it returns a promise, the next value comes after it, and values that
   * are out of date by then are left out. If it throws, the value comes again after a pause. Default: none. The subscription
   * then begins when a loop reads it.
   */
  readonly onValue?: ((value: LiveValue<T>) => unknown) | undefined;
}

/**
 * Subscribes to a live query that `liveResponse` of `percolatordb/live` serves at this address. It
 * connects again after each failure, and gets only a value that it does not have.
 *
 * `Q` is the type of the server's query, from which it takes the type of the values, or that type
 * itself.
 *
 * @example
 * const subscription = live<typeof topOrders>("/live/top", { onValue: ({ value }) => show(value) });
 * subscription.close();
 *
 * @example
 * for await (const { value, timestamp } of live<typeof topOrders>("/live/top", { signal })) show(value);
 */
export function live<Q>(
  url: string,
  options: LiveSubscriptionOptions<ValueOf<Q>> = {},
): LiveSubscription<LiveValue<ValueOf<Q>>> {
  return subscribe(url, options, options.onValue, (messages) =>
    // A value that a newer one has followed already is of no use.
    messages.slice(-1).map(({ id, data }) => ({
      id,
      value: { value: decodeJson(data) as ValueOf<Q>, timestamp: parseInt(id ?? "", 10) },
    })),
  );
}
