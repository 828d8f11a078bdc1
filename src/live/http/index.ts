/**
 * `percolatordb/live`: live queries and change feeds over HTTP, as server-sent events, for every
 * server that answers a `Request` with a `Response`, and for `node:http` and Express.
 * `percolatordb/live/client` is the other end.
 */
export type { LiveErrorCode } from "./failure.js";
export { feedResponse } from "./feed-response.js";
export { liveResponse } from "./live-response.js";
export { sendResponse, toNode } from "./node.js";
export type { CorsOptions, FeedResponseOptions, LiveResponseOptions, StreamOptions } from "./options.js";
export { type FeedDatabase, type LiveDatabase, liveQuery } from "./sources.js";
