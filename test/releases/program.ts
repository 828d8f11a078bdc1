import {
  bigint,
  boolean,
  bytes,
  compressed,
  type Database,
  date,
  family,
  feed,
  float,
  int,
  json,
  type OpenOptions,
  observer,
  oneOf,
  open,
  type RowStore,
  signal,
  table,
  text,
  tuple,
} from "percolatordb";
import { z } from "zod";

/**
 * The program that writes the fixtures of releases, and that reads them in all later versions. If a
 * release adds something that is stored in a new way, add it here before you make its fixture, and
 * let readers of older fixtures do without it.
 */

const shape = z.object({ author: z.string() });

export const pages = table("pages", {
  body: text(),
  title: text(),
  size: int(),
  score: float(),
  isDraft: boolean(),
  written: date(),
  views: bigint(),
  state: oneOf("new", "done"),
  digest: bytes(),
  long: compressed(text()),
  meta: json(shape, { version: 2, upgrade: { 1: (old: { by: string }) => ({ author: old.by }) } }),
  anchors: family(text()),
  rescore: signal(),
});
export const visits = table("visits", { count: int() }, { key: tuple(text(), int()) });
export const accounts = table("accounts", { cents: int() });

/** Its changes are handled when the fixture is made. */
export const titles = observer("titles", pages.body, (tx, { row, value }) =>
  tx.set(pages.title, row, value?.slice(0, 5) ?? ""),
);
/** Its runs fail when the fixture is made, and are parked. */
export const refuses = (fails: boolean) =>
  observer(
    "refuses",
    pages.size,
    (tx, { row }) => {
      const error = new Error("the size was refused");
      // A fixture should not have the paths of the machine that made it.
      error.stack = String(error);
      if (fails) throw error;
      tx.set(pages.state, row, "done");
    },
    { attempts: 1 },
  );
/** It is registered when the fixture is made, but does not run. */
export const scores = observer("scores", pages.rescore, async (tx, { row }) =>
  tx.set(pages.score, row, ((await tx.get(pages.score, row)) ?? 0) + 1),
);

const tenYearsMs = 10 * 365 * 86_400_000;
export const bodies = feed("bodies", [pages.body, pages.anchors], { retentionMs: 10 * tenYearsMs });

const retentionMs = tenYearsMs;

/** Opens a database of the program. Nothing is collected by itself. */
export function openProgram(
  location: string | RowStore,
  {
    fails = false,
    ...options
  }: { readonly fails?: boolean } & Pick<OpenOptions, "commit" | "coordinator"> = {},
): Promise<Database> {
  return open(location, {
    tables: [pages, visits, accounts],
    observers: [titles, refuses(fails), scores],
    feeds: [bodies],
    collectEveryMs: 0,
    retentionMs,
    ...options,
  });
}
