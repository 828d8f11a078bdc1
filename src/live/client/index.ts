/**
 * `percolatordb/live/client`: subscribes to live queries and feeds that `percolatordb/live` serves,
 * in browsers, Node, Bun and Deno. It needs only `fetch`.
 */
export {
  type ChangeOf,
  type FeedEvent,
  type FeedSubscriptionOptions,
  feed,
  type ReceivedChange,
} from "./feed.js";
export { type LiveSubscriptionOptions, type LiveValue, live, type ValueOf } from "./live.js";
export {
  type LiveClientEnvironment,
  type LiveClientOptions,
  LiveError,
  type LiveState,
  type LiveSubscription,
} from "./options.js";
