import { InvalidArgumentError, ObserverError } from "../../errors/index.js";
import type { ObservedCell, ParkedChange } from "../../observer/index.js";
import { definition, parseRowText } from "../../schema/index.js";
import type { Acted, ParkedPage, ParkedShown } from "../api.js";
import { type Body, stringOf } from "../server/body.js";
import { makeId, readId } from "../text/ids.js";
import type { KnownTables } from "../text/tables.js";
import type { Action, View, ViewContext } from "./context.js";
import { firstOf } from "./first-of.js";

const maxOfError = 4_000;
const maxOfStack = 16_000;

/** A page of the parked changes, ordered by observer and row. */
export const parked: View<ParkedPage> = async (context, given, signal) => {
  const tables = await context.tables.get();
  const { first, isMore } = await firstOf(
    changesBehind(context, tables, given.text("observer"), given.text("after"), signal),
    given.limit(),
  );
  return { parked: first, next: isMore ? first.at(-1)?.id : undefined };
};

/**
 * Yields the parked changes that follow the change `after`. If that change is no longer parked,
 * begins with the next observer.
 */
async function* changesBehind(
  { db }: ViewContext,
  tables: KnownTables,
  observer: string | undefined,
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<ParkedShown> {
  const last = after === undefined ? undefined : String(readId(after, 5)[0]);
  const observers = await db.observers();
  if (observer !== undefined) checkObserver(observers, observer);
  const all = [...observers.keys()].sort().filter((name) => last === undefined || name >= last);
  let isBehind = false;
  for (const name of observer === undefined ? all : [observer]) {
    for await (const change of db.parked({ observer: name, signal })) {
      const shown = parkedShown(tables, change);
      if (isBehind || name !== last) yield shown;
      else isBehind = shown.id === after;
    }
  }
}

function checkObserver(observers: ReadonlyMap<string, unknown>, observer: string): void {
  if (observers.has(observer)) return;
  const known = observers.size === 0 ? "no observer" : [...observers.keys()].join(", ");
  throw new ObserverError(`Observer ${JSON.stringify(observer)} is not registered. Registered: ${known}.`);
}

function parkedShown(tables: KnownTables, change: ParkedChange): ParkedShown {
  const { observer, table, column, qualifier, attempts, parkedAt, error } = change;
  const known = tables.table(table);
  const row = known === undefined ? String(change.row) : known[definition].key.format(change.row);
  return {
    id: makeId([observer, table, row, column, qualifier ?? null]),
    observer,
    table,
    row,
    column: qualifier === undefined ? column : `${column}:${qualifier}`,
    attempts,
    parkedAt: parkedAt.getTime(),
    error: `${error.name}: ${error.message}`.slice(0, maxOfError),
    stack: error.stack?.slice(0, maxOfStack),
  };
}

/** Retries parked changes: one by its id, or all of an observer. */
export const retryParked: Action<Acted> = (context, body, signal) =>
  act(context, body, signal, (cell) => context.db.retry(cell));

/** Discards parked changes: one by its id, or all of an observer. */
export const discardParked: Action<Acted> = (context, body, signal) =>
  act(context, body, signal, (cell) => context.db.discard(cell));

async function act(
  { db, tables }: ViewContext,
  body: Body,
  signal: AbortSignal,
  onCell: (cell: ObservedCell) => Promise<boolean>,
): Promise<Acted> {
  const [id, observer] = [stringOf(body, "id"), stringOf(body, "observer")];
  if ((id === undefined) === (observer === undefined)) {
    throw new InvalidArgumentError(
      "Give either `id`, for one parked change, or `observer`, for all of its changes.",
    );
  }
  const acted = { done: 0, gone: 0, standing: 0 };
  const one = async (cell: ObservedCell) => acted[(await onCell(cell)) ? "done" : "gone"]++;
  if (id !== undefined) await one(cellOf(await tables.get(), id));
  if (observer !== undefined) {
    checkObserver(await db.observers(), observer);
    for await (const change of db.parked({ observer, signal })) await one(change);
  }
  return acted;
}

function cellOf(tables: KnownTables, id: string): ObservedCell {
  const [observer, table, row, column, qualifier] = readId(id, 5).map((part) =>
    part === null ? undefined : String(part),
  );
  const known = tables.table(table ?? "");
  return {
    observer: observer ?? "",
    table: table ?? "",
    row: known === undefined ? row : parseRowText(known[definition], row ?? ""),
    column: column ?? "",
    qualifier,
  };
}
