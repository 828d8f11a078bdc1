import { LimitExceededError } from "../../errors/index.js";
import type { LiveRead, LiveValue } from "../index.js";
import { encodeJson } from "./json.js";
import { type LiveId, lastLiveId, liveId, shortHash } from "./last-event-id.js";
import { checkLiveOptions, type LiveResponseOptions } from "./options.js";
import { respond, type ServerEvents } from "./respond.js";
import type { LiveDatabase } from "./sources.js";

/** The most bytes of an event unless the program says otherwise. */
export const defaultMaxBytes = 1_048_576;

/**
 * Answers a request with the value of a live query, and a new one whenever it has changed, as
 * server-sent events. It works in every server that answers a `Request` with a `Response`: Hono,
 * Next, Bun, Deno. For `node:http` and Express, see {@link toNode}.
 *
 * Each event has the JSON of a value in its data, and the value's timestamp and hash in its id. A
 * client that reconnects with `Last-Event-ID` gets nothing until the value differs from the one that
 * it has. A slow client gets the newest value, and none that is out of date by then. The query runs
 * only while its client waits, and ends with the connection.
 *
 * @param query A function of a snapshot: see {@link liveQuery}. It may use what it knows about the
 * request, such as the user.
 * @throws InvalidArgumentError for an invalid option.
 *
 * @example
 * app.get("/live/top", (c) => liveResponse(db, topOrders, c.req.raw));
 */
export async function liveResponse(
  db: LiveDatabase,
  query: LiveRead<unknown>,
  request: Request,
  options: LiveResponseOptions = {},
): Promise<Response> {
  checkLiveOptions(options);
  const { throttleMs, timeoutMs, maxBytes = defaultMaxBytes } = options;
  return await respond(db, request, options, (signal) => {
    const last = lastLiveId(request);
    return liveEvents(db.live(query, { signal, throttleMs, timeoutMs }), last, maxBytes);
  });
}

async function* liveEvents(
  results: AsyncGenerator<LiveValue<unknown>, void, undefined>,
  last: LiveId | undefined,
  maxBytes: number,
): ServerEvents {
  let known = last?.hash;
  let isFirst = true;
  for await (const { value, timestamp } of results) {
    const data = encodeJson(value);
    checkBytes("The result of a live query", data, maxBytes);
    const hash = shortHash(data);
    if (hash !== known) yield { id: liveId(timestamp, hash), data };
    else if (isFirst) yield "comment";
    isFirst = false;
    known = hash;
  }
}

/** Throws a LimitExceededError if an event's data has too many bytes. */
export function checkBytes(what: string, data: string, maxBytes: number): void {
  const bytes = Buffer.byteLength(data);
  if (bytes <= maxBytes) return;
  throw new LimitExceededError(
    `${what} has ${bytes} bytes of JSON, but an event may have ${maxBytes}. Return less, or raise \`maxBytes\`.`,
  );
}
