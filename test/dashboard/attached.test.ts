import { open } from "percolatordb";
import { serveMetrics } from "percolatordb/dashboard";
import { attachTables } from "percolatordb/postgres";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Overview, Pipeline } from "../../src/dashboard/api/index.js";
import { Shop, sums } from "../postgres/attach/shop.js";
import { served } from "./pipeline.js";

let shop: Shop;
beforeEach(async () => {
  shop = await Shop.create();
});
afterEach(() => shop[Symbol.asyncDispose]());

const source = () => `"${shop.schema}"."orders"`;

async function attachedShop() {
  const { orders, add } = shop.declare();
  const db = await open(shop.place.location, { tables: [orders, sums], observers: [add], collectEveryMs: 0 });
  await attachTables(db, [orders]);
  return { db, orders };
}

test("the overview shows how attached tables are, and the pipeline where rows come from", async () => {
  const { db } = await attachedShop();
  await using _ = db;
  await db.drain();
  await shop.sql("insert into T.orders values (1, 'a', 1), (2, 'b', 2)");
  await using dashboard = await served(db);
  const attached = async () => (await dashboard.get<Overview>("overview")).attached;
  expect(await attached()).toEqual([
    {
      source: source(),
      name: "orders",
      copy: { phase: "done", rows: 0 },
      pending: { count: 2, isBound: false },
      oldestPendingMs: expect.any(Number),
    },
  ]);
  const { tables } = await dashboard.get<Pipeline>("pipeline");
  expect(tables.filter((table) => table.source !== undefined)).toMatchObject([
    { name: "orders", source: source() },
  ]);
  await db.drain();
  await vi.waitFor(
    async () => expect((await attached())[0]).toMatchObject({ pending: { count: 0 } }),
    30_000,
  );
  await shop.sql("alter table T.orders drop total");
  await vi.waitFor(
    async () =>
      expect((await attached())[0]).toMatchObject({ problem: expect.stringMatching(/no column "total"/) }),
    30_000,
  );
  await expect(db.drain()).rejects.toThrow(/no column "total"/);
  await vi.waitFor(
    async () => expect((await attached())[0]).toMatchObject({ problemSince: expect.any(Number) }),
    30_000,
  );
});

test("metrics say how attached tables are", async () => {
  const { db } = await attachedShop();
  await using _ = db;
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  const gauges = async () => {
    await using server = await serveMetrics(db);
    const shown = await vi.waitFor(
      async () => {
        const text = await (await fetch(server.url)).text();
        if (!text.includes("percolator_attached_problem{")) throw new Error("The gauges are not there yet.");
        return text;
      },
      { timeout: 60_000, interval: 50 },
    );
    return Object.fromEntries(
      [...shown.matchAll(/^percolator_attached_(\w+)\{source="((?:[^"\\]|\\.)*)"\} (\S+)$/gm)].map(
        ([, name, from, value]) => {
          expect(JSON.parse(`"${from}"`)).toBe(source());
          return [name, Number(value)];
        },
      ),
    );
  };
  expect(await gauges()).toMatchObject({ problem: 0, pending_changes: 1, copying: 1 });
  expect((await gauges()).oldest_pending_age_seconds).toBeGreaterThan(0);
  await db.drain();
  expect(await gauges()).toEqual({
    problem: 0,
    pending_changes: 0,
    copying: 0,
    oldest_pending_age_seconds: 0,
  });
  await shop.sql(`drop trigger "!percolatordb update" on T.orders`);
  expect(await gauges()).toMatchObject({ problem: 1 });
});

test("a role that may not read them sees the rest, and which privilege it lacks", async () => {
  const { db } = await attachedShop();
  await db.close();
  await using role = await shop.createRole();
  await shop.sql(`revoke all on P.attachments from ${role.name}`);
  await using reader = await open(role.location, { readOnly: true });
  await using dashboard = await served(reader);
  const { observers, attached, attachedDenied } = await dashboard.get<Overview>("overview");
  expect(observers).toMatchObject([{ name: "add" }]);
  expect(attached).toEqual([]);
  expect(attachedDenied).toMatch(/permission denied for table attachments .*Grant the role what is missing/);
});
