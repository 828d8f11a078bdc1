import { open } from "percolatordb";
import { attachTables } from "percolatordb/postgres";
import { expect, test } from "vitest";
import { startPostgres } from "../../../examples/support/postgres-server.js";
import { placeAt } from "../../support/postgres/index.js";
import { ProgramProcess } from "../../support/program-process.js";
import { rowsOf, Shop, sums } from "./shop.js";
import { Writers } from "./writers.js";

const settings = ["max_prepared_transactions=5"];
const writesBetween = 60;

async function startWorker(shop: Shop): Promise<ProgramProcess> {
  const args = [shop.place.location, shop.schema, shop.place.host];
  const child = new ProgramProcess("test/postgres/attach/worker-child.ts", args);
  await child.said((line) => line === "ready");
  return child;
}

test("exactly once while workers are killed, the server crashes and SQL writers go on", async () => {
  const server = await startPostgres({ settings });
  try {
    await using shop = await Shop.at(placeAt(server.host, "following"));
    const { orders, add } = shop.declare();
    await shop.sql("insert into T.orders select i, 'c', i from generate_series(0, 39) i");
    const location = `${shop.place.location}&deadlineMs=60000`;
    const setup = await open(location, { tables: [orders, sums], observers: [add] });
    await attachTables(setup, [orders]);
    await setup.close();
    const workers = [await startWorker(shop), await startWorker(shop)];
    const writers = new Writers(shop, 4);
    try {
      for (let round = 0; round < 8; round++) {
        await writers.progress(writesBetween);
        if (round % 2 === 0) {
          await workers[round % 4 === 0 ? 0 : 1]!.kill();
          workers[round % 4 === 0 ? 0 : 1] = await startWorker(shop);
        } else await server.crash();
      }
      await writers.progress(writesBetween);
    } finally {
      await writers.stop();
      for (const worker of workers) await worker.kill();
    }
    await using db = await open(location, { tables: [orders, sums], observers: [add] });
    await shop.expectEqual(db, orders);
    const runs = (await db.transact((tx) => tx.get(sums.runs, "all")))!;
    expect(runs).toBeGreaterThan(40);
    expect(await db.check()).toEqual([]);
  } finally {
    await server.stop();
  }
}, 300_000);

test("a prepared transaction arrives in its order, also after a crash", async () => {
  const server = await startPostgres({ settings });
  try {
    await using shop = await Shop.at(placeAt(server.host, "prepared"));
    const { orders, add } = shop.declare();
    await using db = await open(`${shop.place.location}&deadlineMs=60000`, {
      tables: [orders, sums],
      observers: [add],
    });
    await attachTables(db, [orders]);
    await shop.sql("insert into T.orders values (1, 'a', 1), (2, 'b', 2)");
    await shop.expectEqual(db, orders);
    await shop.sql("begin; update T.orders set total = 10 where id = 1; prepare transaction 'one'");
    await shop.sql("update T.orders set total = 20 where id = 2");
    await db.drain();
    await server.crash();
    await expect
      .poll(() =>
        db.drain().then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect(await rowsOf(db, orders)).toEqual([
      [1, { customer: "a", total: 1 }],
      [2, { customer: "b", total: 20 }],
    ]);
    await shop.sql("commit prepared 'one'");
    await shop.sql("update T.orders set total = total + 1 where id = 1");
    await shop.expectEqual(db, orders);
  } finally {
    await server.stop();
  }
});

test("an SQL transaction of 210,000 rows arrives in pieces with bounded memory", async () => {
  const server = await startPostgres({ settings: ["fsync=off", "max_wal_size=4GB"] });
  try {
    await using shop = await Shop.at(placeAt(server.host, "bulk"));
    const { orders } = shop.declare();
    await using db = await open(shop.place.location, { tables: [orders] });
    await attachTables(db, [orders]);
    await shop.sql("insert into T.orders select i, null, i from generate_series(1, 210000) i");
    let highest = 0;
    const before = process.memoryUsage().rss;
    const timer = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage().rss);
    }, 50);
    await db.drain();
    clearInterval(timer);
    expect((highest - before) / 2 ** 20).toBeLessThan(900);
    const at = async (id: number) => (await db.history(orders.total, [id]))[0]!.commitTimestamp;
    const times = await Promise.all([1, 100_000, 100_001, 200_000, 200_001, 210_000].map(at));
    expect(times[0]).toBe(times[1]);
    expect(times[2]).toBe(times[3]);
    expect(times[4]).toBe(times[5]);
    expect(new Set(times).size).toBe(3);
    expect(await shop.pending()).toBe(0);
  } finally {
    await server.stop();
  }
}, 300_000);
