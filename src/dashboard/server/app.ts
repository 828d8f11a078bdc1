import type { HttpBindings } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { setCookie } from "hono/cookie";
import { etag } from "hono/etag";
import { ClosedError } from "../../errors/index.js";
import type { MetricsPages } from "../metrics/metrics-pages.js";
import { answerPlain } from "../metrics/plain-answer.js";
import type { ViewContext } from "../views/context.js";
import { Parameters } from "../views/parameters.js";
import type { Access } from "./access.js";
import { answer, answerFailure, answerJson } from "./answers.js";
import { readBody } from "./body.js";
import { RequestError } from "./failure.js";
import { securityHeaders } from "./headers.js";
import { pathOf } from "./listen.js";
import { tokenPage } from "./plain-page.js";
import { actions, report, views } from "./routes.js";
import { endedBy, rowChanges } from "./row-changes.js";
import { staticPages } from "./static-pages.js";
import type { Streams } from "./stream.js";
import { type AppContext, answerSteps, stepsType, untilGone } from "./until-gone.js";

/** The parts that a dashboard's app uses. */
export interface Served {
  /** Path under which it answers; ends with a slash. */
  readonly base: string;
  readonly access: Access;
  readonly context: ViewContext;
  readonly streams: Streams;
  readonly metrics: MetricsPages;
  /** The folder of the built pages. */
  readonly pages: string;
  /** Aborted when the dashboard is closed. */
  readonly closing: AbortSignal;
}

type Step = MiddlewareHandler<{ Bindings: HttpBindings }>;

/** Requests that run at the same time, besides streams, probes and metrics. */
const maxAtOnce = 64;

/**
 * The app of a dashboard. The order of its steps matters for security: first the probes, which need
 * no token, and the metrics, because monitoring must work also if all places are taken. Then come the
 * limit, the token, the API and the pages. Before these steps, the handler has checked `Host`.
 */
export function dashboardApp(served: Served): Hono<{ Bindings: HttpBindings }> {
  const { base, access, metrics, closing } = served;
  const app = new Hono<{ Bindings: HttpBindings }>({
    // Routes must match the path as it was sent. By default, Hono would decode the path first.
    getPath: (_, options) => pathOf(options!.env!.incoming) ?? "",
  });
  const at = base === "/" ? app : app.basePath(base);
  app.onError((error, c) => answerFailure(c, error));
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(securityHeaders)) c.res.headers.set(name, value);
  });
  app.use(async (_, next) => {
    if (closing.aborted) throw new ClosedError("The dashboard was closed.");
    await next();
  });
  const takesToken: Step = async (c, next) => takeToken(access, base, c) ?? (await next());
  const needsToken: Step = async (c, next) => {
    if (!access.isAllowed(c.env.incoming)) return answer(c, 401, "text/html; charset=utf-8", tokenPage);
    return await next();
  };
  for (const path of ["/healthz", "/readyz"]) at.all(path, (c) => answerPlain(c, path, metrics.pages));
  at.all("/metrics", takesToken, needsToken, (c) => answerPlain(c, "/metrics", metrics.pages));
  let underWay = 0;
  app.use(async (_, next) => {
    underWay++;
    try {
      if (underWay > maxAtOnce)
        throw new RequestError(503, "TOO_MANY", "Too many requests at once. Try again.");
      await next();
    } finally {
      underWay--;
    }
  });
  if (base !== "/") app.all(base.slice(0, -1), (c) => redirect(c, base));
  app.use(takesToken);
  addApi(at, served);
  app.use(needsToken);
  at.all("/*", only("GET"), etag(), staticPages(served.pages, base), () => {
    throw new RequestError(404, "NOT_FOUND", "There is no such page. The dashboard starts at its base path.");
  });
  return app;
}

/**
 * Replaces a token in the address by a cookie, so that the browser's history and copied links do
 * not contain it.
 */
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

/** Refuses requests with other methods. */
function only(method: "GET" | "POST"): MiddlewareHandler {
  const allow = method === "GET" ? "GET, HEAD" : "POST";
  return async (c, next) => {
    if (allow.split(", ").includes(c.req.method)) return await next();
    throw new RequestError(405, "METHOD", `This path answers only ${method}.`, { allow });
  };
}

/** `api/`: JSON for the pages and for scripts. */
function addApi(at: Hono<{ Bindings: HttpBindings }>, served: Served): void {
  const { access, context, streams } = served;
  at.use("/api/*", async (c, next) => {
    access.checkOrigin(c.env.incoming);
    access.checkAllowed(c.env.incoming);
    await next();
  });
  at.all("/api/stream", only("GET"), (c) => {
    if (c.req.method === "HEAD") return answerJson(c, {});
    const stream = streams.add(() => c.env.outgoing.destroy());
    return answer(c, 200, "text/event-stream; charset=utf-8", stream, { "x-accel-buffering": "no" });
  });
  at.all("/api/row/live", only("GET"), (c) => {
    if (c.req.method === "HEAD") return answerJson(c, {});
    const given = new Parameters(new URL(c.req.url).searchParams, context.tables);
    return rowChanges(context, given, endedBy(c, served.closing));
  });
  for (const [name, view] of Object.entries(views)) {
    at.all(`/api/${name}`, only("GET"), (c) => {
      const given = new Parameters(new URL(c.req.url).searchParams, context.tables);
      return untilGone(c, served.closing, (signal) => view(context, given, signal));
    });
  }
  for (const [name, action] of Object.entries({ ...actions, report })) {
    at.all(`/api/${name}`, only("POST"), (c) => {
      if (action !== report) access.checkWritable();
      const isStepwise = c.req.header("accept")?.includes(stepsType);
      return isStepwise
        ? answerSteps(c, served.closing, async (signal, tell) =>
            action(context, await readBody(c.env.incoming), signal, tell),
          )
        : untilGone(c, served.closing, async (signal) =>
            action(context, await readBody(c.env.incoming), signal, () => undefined),
          );
    });
  }
  at.all("/api/*", (c) => {
    const name = c.req.path.slice(served.base.length).slice(0, 100);
    throw new RequestError(404, "NOT_FOUND", `There is no ${name}.`);
  });
}
