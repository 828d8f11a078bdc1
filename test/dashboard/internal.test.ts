import { int, open, table, text } from "percolatordb";
import { combiningCounter, derive, exportQueue, schedule } from "percolatordb/recipes";
import { expect, test } from "vitest";
import type { Pipeline } from "../../src/dashboard/api/index.js";
import { served } from "./pipeline.js";

const orders = table("orders", { city: text(), cents: int() });
/** It ends like a table of a recipe and is none. */
const states = table("orders_state", { place: text() });
const counter = combiningCounter("hits");
const reminders = schedule("reminders", { value: text(), fire: () => {} });
const letters = exportQueue("letters", { value: text(), deliver: () => {} });
const totals = derive("totals", {
  from: orders,
  groupBy: ({ city }) => (city === undefined ? undefined : [city]),
  key: [text()],
  sum: ({ cents }) => cents ?? 0,
});

test("tables that recipes keep for themselves are internal, those that programs read are not", async () => {
  const recipes = [counter, reminders, letters, totals];
  const tables = [orders, states, ...recipes.flatMap((recipe) => recipe.tables)];
  const db = await open("memory:", { tables, collectEveryMs: 0 });
  await using dashboard = await served(db, { tables: [] });
  const shown = (await dashboard.get<Pipeline>("pipeline")).tables;
  const names = (isInternal: boolean) =>
    shown.filter((each) => each.isInternal === isInternal).map(({ name }) => name);
  expect(names(false)).toEqual(["hits", "letters", "orders", "orders_state", "reminders", "totals"]);
  // Each recipe has at least one table of its own.
  const owners = new Set(names(true).map((name) => name.split("_")[0]));
  expect([...owners].sort()).toEqual(["hits", "letters", "reminders", "totals"]);
  expect(names(true).length + 6).toBe(shown.length);
  // Each knows for which table it is kept, and that is one which programs read.
  for (const { name, owner, isInternal } of shown) {
    if (!isInternal) expect([name, owner]).toEqual([name, undefined]);
    else expect([name, owner]).toEqual([name, name.split("_")[0]]);
  }
  await db.close();
});
