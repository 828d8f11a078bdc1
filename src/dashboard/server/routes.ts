import { InvalidArgumentError } from "../../errors/index.js";
import { heatMetrics, type Report, type ReportRequest } from "../recording/report.js";
import { RemoteSource } from "../sources/remote.js";
import { about } from "../views/about.js";
import { conflicts } from "../views/conflicts.js";
import type { Action, View } from "../views/context.js";
import { exportParked, failures, retrying } from "../views/failures.js";
import { heat } from "../views/heat.js";
import { history } from "../views/history.js";
import { inspect } from "../views/inspect.js";
import { locks, resolveLock } from "../views/locks.js";
import { discardParked, parked, retryParked } from "../views/parked.js";
import { pipeline } from "../views/pipeline.js";
import { row, rows } from "../views/rows.js";
import { transaction, transactions } from "../views/transactions.js";
import { workers } from "../views/workers.js";

const overview: View<unknown> = (context) => context.overview.get();
const past: View<unknown> = (context, given) => context.past.get(given.whole("after"));

/** `GET api/NAME`: requests that only read. */
export const views: Readonly<Record<string, View<unknown>>> = {
  about,
  conflicts,
  failures,
  heat,
  history,
  inspect,
  locks,
  overview,
  parked,
  "parked/export": exportParked,
  past,
  pipeline,
  retrying,
  row,
  rows,
  transaction,
  transactions,
  workers,
};

/** `POST api/NAME`: requests that change the database. A read-only dashboard refuses them. */
export const actions: Readonly<Record<string, Action<unknown>>> = {
  "parked/retry": retryParked,
  "parked/discard": discardParked,
  "locks/resolve": resolveLock,
};

/**
 * `POST api/report`: the reports of this process and of those that it supervises, for dashboards
 * that name this one.
 */
export const report: Action<readonly Report[]> = async ({ gathered }, body, signal) => {
  const request = checkRequest(body);
  // Leaves out remote sources. Two dashboards may name each other, and would otherwise ask each
  // other without end.
  const here = gathered.sources.filter((source) => !(source instanceof RemoteSource));
  return (await Promise.all(here.map((source) => source.reports(request, signal)))).flat();
};

const maxNamed = 2_048;

function checkRequest({ after = {}, who = [], heat: asked }: Parameters<typeof report>[1]): ReportRequest {
  const isMap = typeof after === "object" && after !== null && !Array.isArray(after);
  const numbers = isMap ? Object.values(after) : [];
  const isBounded = numbers.length <= maxNamed && Array.isArray(who) && who.length <= maxNamed;
  if (!isMap || !isBounded || ![...numbers, ...who].every((each) => typeof each === "number")) {
    throw new InvalidArgumentError("`after` must be an object of numbers, and `who` a list of timestamps.");
  }
  return { after: after as ReportRequest["after"], who, heat: checkHeat(asked) };
}

function checkHeat(asked: unknown): ReportRequest["heat"] {
  if (asked === undefined) return undefined;
  const { table, metric } = (asked ?? {}) as { readonly table?: unknown; readonly metric?: unknown };
  const known = heatMetrics.find((each) => each === metric);
  if (typeof table === "string" && known !== undefined) return { table, metric: known };
  throw new InvalidArgumentError("`heat` must be a table and a metric.");
}
