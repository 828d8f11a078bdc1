import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";

/** A request as Express passes it: mounted routers change its `url`. */
type NodeRequest = IncomingMessage & { readonly originalUrl?: string };

/**
 * Makes a listener for `node:http` and Express of a function that answers a `Request` with a
 * `Response`. If the function throws, the client gets 500, and `next` gets the error if there is one,
 * as in Express.
 *
 * @example
 * createServer(toNode((request) => liveResponse(db, topOrders, request))).listen(3000);
 * app.get("/live/top", toNode((request) => liveResponse(db, topOrders, request)));
 */
export function toNode(
  answer: (request: Request) => Response | Promise<Response>,
): (incoming: IncomingMessage, outgoing: ServerResponse, next?: (error: unknown) => void) => void {
  return (incoming, outgoing, next) => {
    // A `Request` cannot have this method.
    if (incoming.method === "TRACE") return void outgoing.writeHead(501).end();
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    const answered = async () => sendResponse(await answer(requestOf(incoming, gone.signal)), outgoing);
    answered().catch((error: unknown) => {
      if (outgoing.headersSent) outgoing.destroy();
      else if (next !== undefined) next(error);
      else outgoing.writeHead(500).end();
    });
  };
}

/** A request without its body: nothing here reads one. */
function requestOf(incoming: NodeRequest, signal: AbortSignal): Request {
  const { socket, headers, method = "GET", originalUrl, url = "/" } = incoming;
  const scheme = (socket as Partial<TLSSocket>).encrypted ? "https" : "http";
  const path = originalUrl ?? url;
  const base = `${scheme}://${headers.host ?? headers[":authority"] ?? "localhost"}`;
  const origin = URL.canParse(base) ? new URL(base).origin : `${scheme}://localhost`;
  // A path such as `//example.org/` must not become another host.
  const full = path.startsWith("/") ? `${origin}${path}` : `${origin}/`;
  const given = Object.entries(headers)
    // The headers of HTTP/2 that begin with a colon are no headers of a `Request`.
    .filter(([name]) => !name.startsWith(":"))
    .flatMap(([name, values]) => [values ?? []].flat().map((value): [string, string] => [name, value]));
  return new Request(URL.canParse(full) ? full : `${origin}/`, { method, headers: given, signal });
}

/**
 * Sends a `Response` as the answer of `node:http` or Express. Resolves when everything was sent, or
 * the client is gone: the body is then cancelled.
 *
 * @example
 * app.get("/live/top", async (req, res) => {
 *   await sendResponse(await liveResponse(db, topOrders, new Request(`http://localhost${req.url}`)), res);
 * });
 */
export async function sendResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  const reader = response.body?.getReader();
  if (outgoing.destroyed) return void (await reader?.cancel());
  const headers: Record<string, string | string[]> = Object.fromEntries(response.headers);
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) headers["set-cookie"] = cookies;
  outgoing.writeHead(response.status, headers);
  if (reader === undefined) return void outgoing.end();
  outgoing.flushHeaders();
  const onClose = () => void reader.cancel().catch(() => undefined);
  outgoing.once("close", onClose);
  // A body that fails while the client takes nothing: only this ends the connection.
  reader.closed.catch(() => outgoing.destroy());
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (!outgoing.write(next.value)) await drained(outgoing);
    }
    outgoing.end();
  } catch {
    outgoing.destroy();
  } finally {
    outgoing.off("close", onClose);
  }
}

/** Resolves when more can be written, or the client is gone. */
async function drained(outgoing: ServerResponse): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  try {
    if (!outgoing.destroyed)
      await Promise.race([once(outgoing, "drain", { signal }), once(outgoing, "close", { signal })]);
  } finally {
    done.abort();
  }
}
