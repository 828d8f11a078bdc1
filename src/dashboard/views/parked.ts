import { InvalidArgumentError, ObserverError } from "../../errors/index.js";
import type { ObservedCell } from "../../observer/index.js";
import { definition, parseRowText } from "../../schema/index.js";
import type { Acted, ParkedPage, ParkedShown } from "../api/index.js";
import { type FailureFilter, isMeant, observerOfGroup } from "../failures/groups.js";
import { type Body, stringOf } from "../server/body.js";
import { readId } from "../text/ids.js";
import { parkedShown } from "../text/parked.js";
import type { KnownTables } from "../text/tables.js";
import type { Action, View, ViewContext } from "./context.js";
import { firstOf } from "./first-of.js";
import type { Parameters } from "./parameters.js";

/** A page of the parked changes, ordered by observer and row. */
export const parked: View<ParkedPage> = async (context, given, signal) => {
  const tables = await context.tables.get();
  const { first, isMore } = await firstOf(
    changesBehind(context, tables, chosenBy(given), given.text("after"), signal),
    given.limit(),
  );
  return { parked: first, next: isMore ? first.at(-1)?.id : undefined };
};

/** Yields the parked changes that follow the change `after`, also if that one is no longer parked. */
async function* changesBehind(
  { db }: ViewContext,
  tables: KnownTables,
  { observer, ...filter }: ChosenParked,
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<ParkedShown> {
  if (observer !== undefined) checkObserver(await db.observers(), observer);
  const last = after === undefined ? undefined : cellOf(tables, after);
  for await (const change of db.parked({ observer, after: last, signal })) {
    if (isMeant(change, filter)) yield parkedShown(tables, change);
  }
}

/** Which parked changes a request is about. */
interface ChosenParked extends FailureFilter {
  readonly observer: string | undefined;
}

/** The parked changes that query parameters choose: of an observer, of a group, with a text. */
export function chosenBy(given: Parameters): ChosenParked {
  const [observer, group, text] = ["observer", "group", "text"].map((name) => given.text(name));
  return { observer: group === undefined ? observer : observerOfGroup(group), group, text };
}

export function checkObserver(observers: ReadonlyMap<string, unknown>, observer: string): void {
  if (observers.has(observer)) return;
  const known = observers.size === 0 ? "no observer" : [...observers.keys()].join(", ");
  throw new ObserverError(`Observer ${JSON.stringify(observer)} is not registered. Registered: ${known}.`);
}

/** Retries parked changes: one by its id, all of a group, or all of an observer. */
export const retryParked: Action<Acted> = (context, body, signal, tell) =>
  act(context, body, signal, tell, (cell) => context.db.retry(cell));

/** Discards parked changes: one by its id, all of a group, or all of an observer. */
export const discardParked: Action<Acted> = (context, body, signal, tell) =>
  act(context, body, signal, tell, (cell) => context.db.discard(cell));

/** The most changes that one request retries or discards, and how many of them at the same time. */
const maxActed = 10_000;
const actedAtOnce = 16;

/** Retries or discards, and forgets the groups of before. */
const act: typeof actOnCells = async (context, ...given) => {
  try {
    return await actOnCells(context, ...given);
  } finally {
    context.failures.forget();
  }
};

/** If the request is aborted, ends after the changes that it has begun. */
async function actOnCells(
  { db, tables, environment }: ViewContext,
  body: Body,
  signal: AbortSignal,
  tell: (acted: Acted) => void,
  onCell: (cell: ObservedCell) => Promise<boolean>,
): Promise<Acted> {
  const [id, observer, group] = ["id", "observer", "group"].map((name) => stringOf(body, name));
  if ([id, observer, group].filter((each) => each !== undefined).length !== 1) {
    throw new InvalidArgumentError(
      "Give either `id`, for one parked change, `group`, for those with one kind of error, or `observer`, for all of its changes.",
    );
  }
  const acted = { done: 0, gone: 0, standing: 0 };
  const all = async (cells: readonly ObservedCell[]) => {
    const answers = await Promise.all(cells.map(onCell));
    for (const isDone of answers) acted[isDone ? "done" : "gone"]++;
    tell({ ...acted });
    // Lets other requests be answered, and a client that went away be noticed.
    await new Promise<void>((resolve) => environment.defer(resolve));
  };
  if (id !== undefined) {
    await all([cellOf(await tables.get(), id)]);
    return acted;
  }
  const name = observer ?? observerOfGroup(group!);
  checkObserver(await db.observers(), name);
  const filter = { group, text: stringOf(body, "text") };
  let batch: ObservedCell[] = [];
  let count = 0;
  // The list is as of its beginning: a change that is parked again meanwhile does not come again.
  for await (const change of db.parked({ observer: name, signal })) {
    if (!isMeant(change, filter)) continue;
    if (count++ === maxActed) {
      await all(batch);
      return { ...acted, isMore: true };
    }
    batch.push(change);
    if (batch.length < actedAtOnce) continue;
    await all(batch);
    batch = [];
  }
  await all(batch);
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
