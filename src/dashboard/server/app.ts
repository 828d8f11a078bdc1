import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { setCookie } from "hono/cookie";
import { etag } from "hono/etag";
import { onAbort } from "../../environment/index.js";
import { AbortedError, ClosedError } from "../../errors/index.js";
import type { MetricsPages } from "../metrics/metrics-pages.js";
import { answerPlain } from "../metrics/plain-answer.js";
import type { Access } from "./access.js";
import { answer, answerFailure, answerJson } from "./answers.js";
import { RequestError } from "./failure.js";
import { securityHeaders } from "./headers.js";
import { Parameters, readBody } from "./input.js";
import { pathOf } from "./listen.js";
import { tokenPage } from "./plain-page.js";
import { actions, type RouteContext, reports, routes } from "./routes.js";
import { staticPages } from "./static-pages.js";
import type { Streams } from "./stream.js";

/** The parts that a dashboard's app uses. */
export interface Served {
  /** Path under which it answers; ends with a slash. */
  readonly base: string;
  readonly access: Access;
  readonly context: RouteContext;
  readonly streams: Streams;
  readonly metrics: MetricsPages;
  /** The folder of the built pages. */
  readonly pages: string;
  /** Aborted when the dashboard is closed. */
  readonly closing: AbortSignal;
}

/** Requests that run at the same time, besides streams. */
const maxAtOnce = 64;

type AppContext = Context<{ Bindings: HttpBindings }>;

/**
 * The app of a dashboard. The order of its steps protects it: limits first, then the probes, which
 * need no token, then the token, then the API and the pages. The handler has checked `Host` before.
 */
export function dashboardApp(served: Served): Hono<{ Bindings: HttpBindings }> {
  const { base, access, metrics, closing } = served;
  const app = new Hono<{ Bindings: HttpBindings }>({
    // The path as it was sent: routes compare it before anything is decoded.
    getPath: (_, options) => pathOf(options!.env!.incoming) ?? "",
  });
  const at = base === "/" ? app : app.basePath(base);
  app.onError((error, c) => answerFailure(c, error));
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(securityHeaders)) c.res.headers.set(name, value);
  });
  let underWay = 0;
  app.use(async (_, next) => {
    underWay++;
    try {
      if (underWay > maxAtOnce) throw new RequestError(503, "TOO_MANY", "Too many requests at once.");
      if (closing.aborted) throw new ClosedError("The dashboard was closed.");
      await next();
    } finally {
      underWay--;
    }
  });
  if (base !== "/") app.all(base.slice(0, -1), (c) => redirect(c, base));
  for (const path of ["/healthz", "/readyz"]) at.all(path, (c) => answerPlain(c, path, metrics.pages));
  app.use(async (c, next) => takeToken(access, base, c) ?? (await next()));
  addApi(at, served);
  app.use(async (c, next) => {
    if (!access.isAllowed(c.env.incoming)) return answer(c, 401, "text/html; charset=utf-8", tokenPage);
    return await next();
  });
  at.all("/metrics", (c) => answerPlain(c, "/metrics", metrics.pages));
  at.all("/*", onlyGet, etag(), staticPages(served.pages, base), () => {
    throw new RequestError(404, "NOT_FOUND", "There is no such page: the dashboard starts at its base.");
  });
  return app;
}

/** Replaces a token in the address by a cookie, so that no history and no link keeps it. */
function takeToken(access: Access, base: string, c: AppContext): Response | undefined {
  const given = c.req.query("token");
  if (given === undefined || c.req.method !== "GET") return undefined;
  const cookie = access.cookieFor(c.env.incoming, given);
  if (cookie !== undefined) {
    setCookie(c, cookie.name, cookie.value, { path: base, httpOnly: true, sameSite: "Strict" });
  }
  const url = new URL(c.req.url);
  url.searchParams.delete("token");
  // A location with two slashes at its start would name another host.
  return redirect(c, `${c.req.path.replace(/^\/+/, "/")}${url.search}`);
}

function redirect(c: AppContext, location: string): Response {
  c.header("cache-control", "no-store");
  return c.redirect(location, 303);
}

async function onlyGet(c: AppContext, next: () => Promise<void>): Promise<void> {
  if (c.req.method !== "GET" && c.req.method !== "HEAD") throw wrongMethod("GET");
  await next();
}

async function onlyPost(c: AppContext, next: () => Promise<void>): Promise<void> {
  if (c.req.method !== "POST") throw wrongMethod("POST");
  await next();
}

function wrongMethod(method: "GET" | "POST"): RequestError {
  const allow = method === "GET" ? "GET, HEAD" : "POST";
  return new RequestError(405, "METHOD", `Only ${method} is answered here.`, { allow });
}

/** `api/`: JSON for the pages and for scripts. */
function addApi(at: Hono<{ Bindings: HttpBindings }>, served: Served): void {
  const { access, context, streams } = served;
  at.use("/api/*", async (c, next) => {
    access.checkAllowed(c.env.incoming);
    await next();
  });
  at.all("/api/stream", onlyGet, (c) => {
    if (c.req.method === "HEAD") return answerJson(c, {});
    return answer(c, 200, "text/event-stream; charset=utf-8", streams.add(), { "x-accel-buffering": "no" });
  });
  for (const [name, route] of routes) {
    at.all(`/api/${name}`, onlyGet, (c) => {
      const given = new Parameters(new URL(c.req.url).searchParams);
      return untilGone(c, served.closing, async (signal) =>
        answerJson(c, await route(context, given, signal)),
      );
    });
  }
  for (const [name, action] of [...actions, ["report", reports] as const]) {
    at.all(`/api/${name}`, onlyPost, (c) => {
      access.checkOrigin(c.env.incoming);
      if (name !== "report") access.checkWritable();
      return untilGone(c, served.closing, async (signal) =>
        answerJson(c, await action(context, await readBody(c.env.incoming), signal)),
      );
    });
  }
  at.all("/api/*", (c) => {
    const name = c.req.path.slice(served.base.length).slice(0, 100);
    throw new RequestError(404, "NOT_FOUND", `There is no ${name}.`);
  });
}

/** Answers a request. Aborts its work when the client goes away or the dashboard is closed. */
async function untilGone(
  { env }: AppContext,
  closing: AbortSignal,
  work: (signal: AbortSignal) => Promise<Response>,
): Promise<Response> {
  const ending = new AbortController();
  const end = () => ending.abort(new AbortedError("The client has gone, or the dashboard was closed."));
  const stopListening = onAbort(closing, end);
  env.outgoing.once("close", end);
  try {
    return await work(ending.signal);
  } finally {
    stopListening();
    env.outgoing.off("close", end);
  }
}
