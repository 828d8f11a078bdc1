import { open } from "percolatordb";
import { attachTables } from "percolatordb/postgres";
import { expect, test } from "vitest";
import { Shop } from "./shop.js";

test("a drain moves what was committed before it, and does not wait for writers that go on", async () => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  await using db = await open(shop.place.location, { tables: [orders] });
  await attachTables(db, [orders]);
  let id = 0;
  let isOver = false;
  // One writer that never waits: there is always a change to move, and the mover keeps up.
  const write = async () => {
    while (!isOver) await shop.sql("insert into T.orders values ($1, 'a', 1)", [++id]);
  };
  const writing = write();
  try {
    for (let round = 0; round < 5; round++) {
      await expect.poll(() => id).toBeGreaterThan(50 * (round + 1));
      const before = (await shop.sql("select id from T.orders")).map((row) => [row.id as number] as const);
      await db.drain();
      const totals = await db.transact((tx) => tx.getMany(orders.total, before));
      expect(totals).toEqual(before.map(() => 1));
    }
  } finally {
    isOver = true;
    await writing;
  }
});
