import { ObserverError } from "../../errors/index.js";
import type { ObservedCell, ParkedChange } from "../../observer/index.js";
import { definition, parseRowText } from "../../schema/index.js";
import type { Acted, ParkedPage, ParkedShown } from "../api.js";
import { makeId, readId } from "../text/ids.js";
import type { KnownTables } from "../text/tables.js";
import type { ViewContext } from "./context.js";

const maxOfError = 4_000;
const maxOfStack = 16_000;

/** A page of the parked changes, ordered by observer and row. */
export async function parked(
  context: ViewContext,
  request: {
    readonly observer: string | undefined;
    readonly after: string | undefined;
    readonly limit: number;
  },
  signal: AbortSignal,
): Promise<ParkedPage> {
  const { observer, after, limit } = request;
  const tables = await context.tables.current();
  await checkObserver(context, observer);
  const found: ParkedShown[] = [];
  let isBehind = after === undefined;
  const place = after === undefined ? undefined : readId(after, 5);
  for await (const change of changes(context, observer, place?.[0], signal)) {
    const shown = parkedShown(tables, change);
    if (isBehind) found.push(shown);
    // The last change of the page before may be gone; the changes after it must not be skipped.
    else if (shown.id === after || change.observer !== place?.[0]) {
      isBehind = true;
      if (shown.id !== after) found.push(shown);
    }
    if (found.length > limit) break;
  }
  const page = found.slice(0, limit);
  return { parked: page, next: found.length > limit ? page.at(-1)?.id : undefined };
}

/** Parked changes, from one observer on. */
async function* changes(
  { db }: ViewContext,
  observer: string | undefined,
  from: unknown,
  signal: AbortSignal,
): AsyncGenerator<ParkedChange> {
  if (observer !== undefined) return yield* db.parked({ observer, signal });
  const names = [...(await db.observers()).keys()].sort();
  for (const name of names) {
    if (typeof from !== "string" || name >= from) yield* db.parked({ observer: name, signal });
  }
}

async function checkObserver({ db }: ViewContext, observer: string | undefined): Promise<void> {
  if (observer === undefined) return;
  const observers = await db.observers();
  if (observers.has(observer)) return;
  const known = observers.size === 0 ? "none is" : `registered: ${[...observers.keys()].join(", ")}`;
  throw new ObserverError(`No observer ${JSON.stringify(observer)} is registered; ${known}.`);
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

/** Retries or discards parked changes: one by its id, or all of an observer. */
export async function actOnParked(
  context: ViewContext,
  action: "retry" | "discard",
  which: { readonly id: string } | { readonly observer: string },
  signal: AbortSignal,
): Promise<Acted> {
  const { db } = context;
  const act = (cell: ObservedCell) => (action === "retry" ? db.retry(cell) : db.discard(cell));
  let done = 0;
  let gone = 0;
  if ("id" in which) {
    if (await act(cellOf(await context.tables.current(), which.id))) done++;
    else gone++;
  } else {
    await checkObserver(context, which.observer);
    for await (const change of db.parked({ observer: which.observer, signal })) {
      if (await act(change)) done++;
      else gone++;
    }
  }
  return { done, gone, standing: 0 };
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
