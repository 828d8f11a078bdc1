import type { IncomingMessage, ServerResponse } from "node:http";
import { InvalidArgumentError } from "../../errors/index.js";
import type { HeatMetric, Report, ReportRequest } from "../recording/report.js";
import { RemoteSource } from "../sources/remote.js";
import type { Access } from "./access.js";
import { readBody } from "./body.js";
import { RequestError } from "./failure.js";
import { noStore } from "./headers.js";
import { Parameters } from "./parameters.js";
import { actions, type RouteContext, routes } from "./routes.js";
import type { Streams } from "./stream.js";

interface Served {
  readonly context: RouteContext;
  readonly access: Access;
  readonly streams: Streams;
}

interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Behind `api/`. */
  readonly name: string;
  readonly signal: AbortSignal;
}

/** Answers what is asked at `api/`; throws what stands against it. */
export async function answerApi(served: Served, asked: Asked): Promise<void> {
  const { request, response, name, signal } = asked;
  const { context, streams } = served;
  if (name === "stream") {
    checkMethod(request, "GET, HEAD");
    if (request.method === "HEAD") return sendJson(request, response, {});
    return streams.add(response);
  }
  const route = routes.get(name);
  if (route !== undefined) {
    checkMethod(request, "GET, HEAD");
    const { searchParams } = new URL(request.url ?? "/", "http://localhost");
    return sendJson(request, response, await route(context, new Parameters(searchParams), signal));
  }
  const action = actions.get(name);
  if (action !== undefined || name === "report") {
    checkMethod(request, "POST");
    served.access.checkOrigin(request);
    if (action !== undefined) served.access.checkWritable();
    const body = await readBody(request);
    const answer = action === undefined ? reports(context, body, signal) : action(context, body, signal);
    return sendJson(request, response, await answer);
  }
  throw new RequestError(404, "NOT_FOUND", `There is no api/${name.slice(0, 100)}.`);
}

function checkMethod({ method }: IncomingMessage, allowed: "GET, HEAD" | "POST"): void {
  if (allowed.split(", ").includes(method ?? "")) return;
  throw new RequestError(405, "METHOD", `Here ${allowed === "POST" ? "POST" : "GET"} is answered.`, {
    allow: allowed,
  });
}

function sendJson(request: IncomingMessage, response: ServerResponse, answer: unknown): void {
  const body = `${JSON.stringify(answer)}\n`;
  response.writeHead(200, {
    ...noStore,
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

/** What this process, and those that it supervises, have seen: for the dashboards that name this one. */
async function reports(
  { gathered }: RouteContext,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<readonly Report[]> {
  const request = checkRequest(body);
  // Two dashboards may name each other.
  const here = gathered.sources.filter((source) => !(source instanceof RemoteSource));
  return (await Promise.all(here.map((source) => source.reports(request, signal)))).flat();
}

const maxNamed = 2_048;

function checkRequest({ after = {}, who = [], heat }: Readonly<Record<string, unknown>>): ReportRequest {
  const isMap = typeof after === "object" && after !== null && !Array.isArray(after);
  const numbers = isMap ? Object.values(after) : [];
  const isBounded = numbers.length <= maxNamed && Array.isArray(who) && who.length <= maxNamed;
  if (!isMap || !isBounded || ![...numbers, ...who].every((each) => typeof each === "number")) {
    throw new InvalidArgumentError("`after` must be numbers by name, and `who` a list of timestamps.");
  }
  return { after: after as Record<string, number>, who: who as readonly number[], heat: checkHeat(heat) };
}

function checkHeat(heat: unknown): ReportRequest["heat"] {
  if (heat === undefined) return undefined;
  const { table, metric } = (heat ?? {}) as { readonly table?: unknown; readonly metric?: unknown };
  if (typeof table === "string" && ["writes", "conflicts", "hints"].includes(metric as string)) {
    return { table, metric: metric as HeatMetric };
  }
  throw new InvalidArgumentError("`heat` must be a table and a metric.");
}
