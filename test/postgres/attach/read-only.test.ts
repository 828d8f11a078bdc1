import { open, table, text } from "percolatordb";
import {
  attachedTables,
  attachTables,
  copyTables,
  detachTable,
  dropPostgresViews,
  postgresViews,
} from "percolatordb/postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lookAtAttached } from "../../../src/dashboard/index.js";
import { Shop } from "./shop.js";

let shop: Shop;

beforeEach(async () => {
  shop = await Shop.create();
});

afterEach(() => shop[Symbol.asyncDispose]());

test("a database that was opened for reading shows its attached tables", async () => {
  const { orders } = shop.declare();
  await using db = await open(shop.place.location, { tables: [orders] });
  await attachTables(db, [orders]);
  await db.drain();
  await using reader = await open(shop.place.location, { readOnly: true });
  expect(await attachedTables(reader)).toMatchObject([{ name: "orders", copy: { phase: "done" } }]);
  expect((await lookAtAttached(reader, 10)).tables).toHaveLength(1);
});

test("a database that was opened for reading changes no triggers, attachments and views", async () => {
  const { orders } = shop.declare();
  const notes = table("notes", { text: text() });
  await using db = await open(shop.place.location, { tables: [orders, notes] });
  await db.transact((tx) => tx.set(notes.text, "a", "b"));
  await attachTables(db, [orders]);
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  await using reader = await open(shop.place.location, { tables: [orders, notes], readOnly: true });
  const calls = [
    () => attachTables(reader, [orders]),
    () => copyTables(reader, [orders]),
    () => detachTable(reader, orders),
    () => postgresViews(reader, [notes]),
    () => dropPostgresViews(reader),
  ];
  for (const call of calls) {
    await expect(call()).rejects.toMatchObject({
      code: "STORE",
      message: expect.stringContaining("readOnly"),
    });
  }
  expect(await shop.pending()).toBe(1);
  expect(await postgresViews(reader, [notes], { dryRun: true })).toMatchObject({
    views: [{ state: "created" }],
  });
  expect(await dropPostgresViews(reader, { dryRun: true })).toMatchObject({ views: [] });
});
