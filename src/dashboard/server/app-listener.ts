import { getRequestListener, type HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import type { RequestListener } from "./listen.js";

/** Turns an app into a request listener of Node's server. */
export function listenerOf(app: Hono<{ Bindings: HttpBindings }>): RequestListener {
  // By default the adapter would replace the program's global `Request` and `Response`.
  const listener = getRequestListener((request, env) => app.fetch(request, env as HttpBindings), {
    overrideGlobalObjects: false,
  });
  return (request, response) => void listener(request, response);
}
