import type { Failures, ParkedExport, Retrying } from "../api/index.js";
import { isMeant } from "../failures/groups.js";
import { readId } from "../text/ids.js";
import { parkedShown } from "../text/parked.js";
import type { View } from "./context.js";
import { firstOf } from "./first-of.js";
import { checkObserver, chosenBy } from "./parked.js";

const maxExported = 10_000;

/** The parked changes by observer and kind of error, the newest first. */
export const failures: View<Failures> = async (context, given) => {
  const { observer, text } = chosenBy(given);
  if (observer !== undefined) checkObserver(await context.db.observers(), observer);
  return await context.failures.parked({ observer, text });
};

/** The changes that failed and are tried again, by observer and kind of error. */
export const retrying: View<Retrying> = async (context, given) => {
  const { observer, text } = chosenBy(given);
  if (observer !== undefined) checkObserver(await context.db.observers(), observer);
  return await context.failures.retrying({ observer, text });
};

/** The parked changes of a group or an observer, as a file. */
export const exportParked: View<ParkedExport> = async ({ db, environment, tables }, given, signal) => {
  const { observer, ...filter } = chosenBy(given);
  if (observer !== undefined) checkObserver(await db.observers(), observer);
  const known = await tables.get();
  async function* meant() {
    for await (const change of db.parked({ observer, signal })) {
      if (isMeant(change, filter)) yield parkedShown(known, change);
    }
  }
  const { first, isMore } = await firstOf(meant(), maxExported);
  const message = filter.group === undefined ? undefined : String(readId(filter.group, 2)[1]);
  return { exportedAt: Math.round(environment.now()), observer, message, parked: first, isMore };
};
