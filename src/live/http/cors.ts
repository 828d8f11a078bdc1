import type { CorsOptions } from "./options.js";

const alwaysAllowed = ["authorization", "cache-control", "last-event-id"];
/** Pages of other origins read only a few headers unless these are named. */
const exposed = { "access-control-expose-headers": "retry-after" };

/** The headers that let a page of another origin read a response: none if it may not. */
export function corsHeaders(request: Request, cors: CorsOptions | undefined): Record<string, string> {
  if (cors === undefined) return {};
  if (cors.origins === "*") return { "access-control-allow-origin": "*", ...exposed };
  const origin = request.headers.get("origin");
  // The response depends on the origin, so no cache may give it to another one.
  if (origin === null || !cors.origins.includes(origin)) return { vary: "origin" };
  return {
    vary: "origin",
    "access-control-allow-origin": origin,
    ...exposed,
    ...(cors.credentials ? { "access-control-allow-credentials": "true" } : {}),
  };
}

/** Lets pages of other origins read a response of the program too, unless it says so itself. */
export function withCors(response: Response, request: Request, cors: CorsOptions | undefined): Response {
  if (cors === undefined || response.headers.has("access-control-allow-origin")) return response;
  // The headers of some responses, such as redirects, cannot be changed.
  const { body, status, statusText } = response;
  const all = new Headers(response.headers);
  for (const [name, value] of Object.entries(corsHeaders(request, cors))) all.append(name, value);
  return new Response(body, { status, statusText, headers: all });
}

/** Answers a browser's question whether a page may send a request. Undefined if it is none. */
export function preflight(request: Request, cors: CorsOptions | undefined): Response | undefined {
  if (cors === undefined || request.method !== "OPTIONS") return undefined;
  if (!request.headers.has("access-control-request-method")) return undefined;
  const headers = corsHeaders(request, cors);
  if (headers["access-control-allow-origin"] === undefined)
    return new Response(null, { status: 403, headers });
  const allowed = [...alwaysAllowed, ...(cors.headers ?? [])].join(", ");
  return new Response(null, {
    status: 204,
    headers: {
      ...headers,
      "access-control-allow-methods": "GET",
      "access-control-allow-headers": allowed,
      "access-control-max-age": "600",
    },
  });
}
