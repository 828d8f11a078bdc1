import { family, feed, int, json, observer, open, storedAs, table, text } from "percolatordb";
import { derive, eventualIndex, schedule, uniqueConstraint } from "percolatordb/recipes";
import { expect, test } from "vitest";

const orders = table("orders", {
  total: int(),
  meta: json<object>(undefined, { version: 2 }),
  tags: family(text()),
});
const customers = table("customers", { name: text() });
const count = observer("count", orders.total, () => undefined, { version: 2 });
const orderFeed = feed("order-feed", [orders.total]);

test("a program that declares what is recorded has no differences", async () => {
  await using db = await open("memory:", {
    tables: [orders, customers],
    observers: [count],
    feeds: [orderFeed],
  });
  const report = await db.schema({ tables: [orders, customers], observers: [count], feeds: [orderFeed] });
  expect(report).toMatchObject({
    tables: [
      { name: "customers" },
      { name: "orders", columns: [{ name: "total" }, { name: "meta", version: 2 }, { name: "tags" }] },
    ],
    observers: [{ name: "count", version: 2 }],
    feeds: [{ name: "order-feed", columns: ["orders.total"], retentionMs: 3_600_000 }],
    dropped: [],
    differences: [],
  });
  expect((await db.schema()).differences).toEqual([]);
});

test("takes what open takes", async () => {
  const sums = derive("sums", { from: orders, key: [int()], groupBy: ({ total }) => [total], count: true });
  const named = uniqueConstraint("named", customers.name, { by: (name) => name });
  const byName = eventualIndex("by_name", customers.name, { by: text(), of: (name) => [name] });
  const later = schedule("later", { value: text(), fire: () => undefined });
  const program = {
    tables: [orders, customers],
    derivations: [sums],
    lookups: [named, byName],
    schedules: [later],
    feeds: [orderFeed],
  };
  await using db = await open("memory:", program);
  expect((await db.schema(program)).differences).toEqual([]);
  const derivationAsObserver = db.schema({ observers: [sums as never] });
  await expect(derivationAsObserver).rejects.toThrow("not an observer: give its `observers`");
});

test("each difference says what it is, and what deals with it", async () => {
  const total = table("orders", { total: int() });
  await using db = await open("memory:", {
    tables: [customers],
    observers: [observer("count", total.total, () => undefined, { version: 2 })],
    feeds: [feed("order-feed", [total.total])],
  });
  await db.transact((tx) => tx.set(orders.meta, "a", {}));
  await db.drop({ table: "orders", column: "tags" });
  const changed = table("orders", {
    total: text(),
    meta: json<object>(undefined, { version: 3 }),
    tags: family(text()),
    added: int(),
    renamed: storedAs("other", int()),
  });
  const fresh = table("fresh", { x: int() });
  const older = table("orders", { meta: json<object>() });
  const actions = async (declared: Parameters<typeof db.schema>[0]) =>
    (await db.schema(declared)).differences.map(({ name, action }) => `${name} ${action}`);
  const recount = observer("count", total.total, () => undefined, { version: 3 });
  const other = observer("other", fresh.x, () => undefined);
  expect(await actions({ tables: [changed, fresh], observers: [recount, other] })).toEqual([
    "orders program",
    "orders.tags program",
    "orders.added open",
    "orders.other open",
    "orders.meta migrate",
    "fresh open",
    "customers drop",
    "observer count backfill",
    "observer other open",
    "feed order-feed removeFeed",
  ]);
  expect(await actions({ tables: [older, customers] })).toEqual([
    "orders.meta program",
    "orders.total drop",
    "observer count unregister",
    "feed order-feed removeFeed",
  ]);
  const [hint] = (await db.schema({ tables: [older] })).differences.filter(
    ({ name }) => name === "orders.total",
  );
  expect(hint?.text).toContain('storedAs("total", ...)');
});
