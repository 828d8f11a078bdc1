import { onAbort, systemEnvironment } from "../../environment/index.js";
import { ClosedError } from "../../errors/index.js";
import { corsHeaders, preflight, withCors } from "./cors.js";
import { EventStream, eventText, type ServerEvent } from "./event-stream.js";
import { codeOf, errorData, Refusal, refusalOf, refused } from "./failure.js";
import { lastEventId } from "./last-event-id.js";
import type { StreamOptions } from "./options.js";

/** The events of a response, and comments that show that the server works. */
export type ServerEvents = AsyncGenerator<ServerEvent | "comment", void, undefined>;

/** Opens the events of a response. `signal` is aborted when it ends. */
export type OpenEvents = (signal: AbortSignal) => ServerEvents | Promise<ServerEvents>;

const defaults = { heartbeatMs: 15_000, slowMs: 30_000, maxConnections: 10_000 } as const;

/** Milliseconds before a browser's `EventSource` connects again: as much again is jitter. */
const retryMs = 1_000;

/** Open responses, by database. */
const connections = new WeakMap<object, number>();

function count(db: object, change: number): number {
  const counted = (connections.get(db) ?? 0) + change;
  connections.set(db, counted);
  return counted;
}

/**
 * Answers a request with a stream of events, or says why not. The order of the steps matters for
 * security: nothing is read from the database, and nothing counted, for a client that may not have
 * it.
 *
 * @param open Called once the request is allowed. It may throw a {@link Refusal}.
 */
export async function respond(
  db: { readonly isClosed: boolean },
  request: Request,
  options: StreamOptions,
  open: OpenEvents,
): Promise<Response> {
  const asked = preflight(request, options.cors);
  if (asked !== undefined) return asked;
  const cors = corsHeaders(request, options.cors);
  let stream: EventStream | undefined;
  try {
    if (request.method !== "GET") {
      throw new Refusal(405, "METHOD", "Live values are read with GET.", { headers: { allow: "GET" } });
    }
    const given = await allowed(request, options);
    if (given !== undefined) return withCors(given, request, options.cors);
    if (db.isClosed) throw new ClosedError("The database was closed.");
    stream = newStream(db, request, options);
    const events = await open(stream.signal);
    void pump(stream, events, (error) => tell(options, error, request));
    return new Response(stream.body, { headers: { ...cors, ...streamHeaders(request, options) } });
  } catch (error) {
    // Frees the place of the connection, and ends the reading.
    stream?.leave();
    const refusal = refusalOf(error, lastEventId(request) !== undefined);
    if (refusal.cause !== undefined) tell(options, refusal.cause, request);
    return refused(refusal, cors);
  }
}

async function allowed(request: Request, { authorize }: StreamOptions): Promise<Response | undefined> {
  if (authorize === undefined) return undefined;
  let answer: boolean | Response;
  try {
    answer = await authorize(request);
  } catch (cause) {
    const message = "The server could not decide whether you may read this.";
    throw new Refusal(500, "INTERNAL", message, { cause });
  }
  if (answer instanceof Response) return answer;
  // Only `true` allows: an `authorize` that forgets to return must not open the database.
  if (answer !== true) throw new Refusal(403, "FORBIDDEN", "You may not read this.");
  return undefined;
}

function newStream(db: object, request: Request, options: StreamOptions): EventStream {
  const { maxConnections = defaults.maxConnections, environment = systemEnvironment } = options;
  if (count(db, 1) > maxConnections) {
    count(db, -1);
    const message = "The server has as many live clients as it takes. Try again.";
    throw new Refusal(503, "TOO_MANY", message, { headers: { "retry-after": "10" } });
  }
  const { heartbeatMs = defaults.heartbeatMs, slowMs = defaults.slowMs, maxAgeMs } = options;
  let stopListening = () => {};
  const stream = new EventStream({
    environment,
    heartbeatMs,
    slowMs,
    maxAgeMs,
    gzip: isCompressed(request, options),
    onEnd: () => {
      count(db, -1);
      stopListening();
    },
  });
  stopListening = onAbort(request.signal, () => stream.leave());
  if (request.signal.aborted) stream.leave();
  else void stream.send(`retry: ${Math.round(retryMs * (1 + environment.random()))}\n\n`);
  return stream;
}

function isCompressed(request: Request, { gzip = false }: StreamOptions): boolean {
  if (!gzip) return false;
  const accepted = request.headers.get("accept-encoding") ?? "";
  return accepted
    .split(",")
    .some((each) => /^\s*(gzip|\*)\s*(;\s*q\s*=\s*(1|0?\.\d*[1-9])\S*)?\s*$/i.test(each));
}

function streamHeaders(request: Request, options: StreamOptions): Record<string, string> {
  return {
    "content-type": "text/event-stream; charset=utf-8",
    // `no-transform` keeps proxies and middleware from compressing, which would hold events back.
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
    ...(isCompressed(request, options) ? { "content-encoding": "gzip" } : {}),
  };
}

/** Sends events as the client takes them, until either has no more. */
async function pump(
  stream: EventStream,
  events: ServerEvents,
  onError: (error: unknown) => void,
): Promise<void> {
  try {
    while (await stream.demand()) {
      const next = await events.next();
      if (next.done) break;
      await stream.send(eventText(next.value));
    }
  } catch (error) {
    if (!stream.signal.aborted) {
      if (!(codeOf(error) === "CLOSED")) onError(error);
      if (await stream.demand()) await stream.send(eventText({ event: "error", data: errorData(error) }));
    }
  }
  await stream.close();
  await events.return().catch(() => undefined);
}

function tell({ onError }: StreamOptions, error: unknown, request: Request): void {
  try {
    onError?.(error, request);
  } catch {
    // A program's broken logger must not break the responses.
  }
}
