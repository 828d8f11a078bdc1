import { InvalidArgumentError } from "../../errors/index.js";
import type { Overview, TransactionShown } from "../api.js";
import type { HeatMetric, Report, ReportRequest } from "../recording/report.js";
import { RemoteSource } from "../sources/remote.js";
import { about } from "../views/about.js";
import { conflicts } from "../views/conflicts.js";
import type { ViewContext } from "../views/context.js";
import { heat } from "../views/heat.js";
import { history } from "../views/history.js";
import { inspect } from "../views/inspect.js";
import { locks, resolveLock } from "../views/locks.js";
import { actOnParked, parked } from "../views/parked.js";
import { pipeline } from "../views/pipeline.js";
import { row, rows } from "../views/rows.js";
import { transaction, transactions } from "../views/transactions.js";
import { workers } from "../views/workers.js";
import { RequestError } from "./failure.js";
import { type Parameters, stringOf } from "./input.js";

export interface RouteContext extends ViewContext {
  /** Computed once for all requests within a second. */
  readonly overview: () => Promise<Overview>;
}

/** Computes the answer to `GET api/NAME`. */
export type Route = (context: RouteContext, given: Parameters, signal: AbortSignal) => Promise<unknown>;

/** Does what `POST api/NAME` asks for. */
export type Action = (
  context: RouteContext,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
) => Promise<unknown>;

const maxRows = 200;
const usualRows = 50;
const maxListed = 500;
const usualListed = 100;

const outcomes: readonly TransactionShown["outcome"][] = ["committed", "conflict", "rolled back"];
const metrics: readonly HeatMetric[] = ["writes", "conflicts", "hints"];

export const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ["about", (context) => about(context)],
  ["overview", (context) => context.overview()],
  ["pipeline", (context) => pipeline(context)],
  [
    "rows",
    async (context, given, signal) => {
      const request = {
        table: given.table(await context.tables.current()),
        prefix: given.text("prefix"),
        after: given.text("after"),
        limit: given.count("limit", usualRows, maxRows),
        at: given.moment("at"),
      };
      return await rows(context, request, signal);
    },
  ],
  [
    "row",
    async (context, given, signal) => {
      const table = given.table(await context.tables.current());
      return await row(context, { table, row: given.needed("row"), at: given.moment("at") }, signal);
    },
  ],
  [
    "history",
    async (context, given) => {
      const table = given.table(await context.tables.current());
      return await history(context, { table, row: given.needed("row"), column: given.needed("column") });
    },
  ],
  [
    "inspect",
    async (context, given) => {
      const table = given.table(await context.tables.current());
      return await inspect(context, { table, row: given.needed("row") });
    },
  ],
  [
    "transactions",
    (context, given) =>
      transactions(context, {
        label: given.text("label"),
        observer: given.text("observer"),
        outcome: given.oneOf("outcome", outcomes),
        table: given.text("table"),
        limit: given.count("limit", usualListed, maxListed),
      }),
  ],
  [
    "transaction",
    async (context, given) => {
      const found = await transaction(context, given.needed("id"));
      if (found !== undefined) return found;
      throw new RequestError(
        404,
        "NOT_FOUND",
        "This transaction is no longer remembered: each process keeps only its newest ones.",
      );
    },
  ],
  ["conflicts", (context) => conflicts(context)],
  [
    "parked",
    (context, given, signal) => {
      const limit = given.count("limit", usualListed, maxListed);
      return parked(context, { observer: given.text("observer"), after: given.text("after"), limit }, signal);
    },
  ],
  [
    "locks",
    (context, given, signal) =>
      locks(
        context,
        { after: given.text("after"), limit: given.count("limit", usualListed, maxListed) },
        signal,
      ),
  ],
  ["workers", (context) => workers(context)],
  [
    "heat",
    async (context, given) => {
      given.table(await context.tables.current());
      return await heat(context, given.needed("table"), given.oneOf("metric", metrics) ?? "writes");
    },
  ],
]);

/** Each needs a writable dashboard. */
export const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
  ["parked/retry", (context, body, signal) => actOnParked(context, "retry", parkedOf(body), signal)],
  ["parked/discard", (context, body, signal) => actOnParked(context, "discard", parkedOf(body), signal)],
  [
    "locks/resolve",
    (context, body, signal) => {
      const id = stringOf(body, "id");
      if (id === undefined) throw new InvalidArgumentError("`id` is missing: give the id of a lock.");
      return resolveLock(context, id, signal);
    },
  ],
]);

function parkedOf(body: Readonly<Record<string, unknown>>) {
  const id = stringOf(body, "id");
  const observer = stringOf(body, "observer");
  if (id !== undefined && observer === undefined) return { id };
  if (observer !== undefined && id === undefined) return { observer };
  throw new InvalidArgumentError(
    "Give either `id`, for one parked change, or `observer`, for all of its changes.",
  );
}

/**
 * The reports of this process and of those that it supervises, for dashboards that name this one.
 */
export async function reports(
  { gathered }: RouteContext,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<readonly Report[]> {
  const request = checkRequest(body);
  // Two dashboards may name each other: remote sources would ask in circles.
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
