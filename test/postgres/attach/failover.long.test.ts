import { type Database, open } from "percolatordb";
import { attachTables } from "percolatordb/postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { locationBehind, startProxy } from "../../support/postgres/index.js";
import { ProgramProcess } from "../../support/program-process.js";
import type { NetworkProxy } from "../../support/proxy/index.js";
import { patienceMs } from "../../support/waiting.js";
import { Shop, sums } from "./shop.js";

let shop: Shop;
let db: Database;
let orders: ReturnType<Shop["declare"]>["orders"];
let proxy: NetworkProxy;
let first: ProgramProcess;
let second: ProgramProcess;

async function startMover(location: string): Promise<ProgramProcess> {
  const args = [location, shop.schema, shop.place.host, "only-moves"];
  const child = new ProgramProcess("test/postgres/attach/worker-child.ts", args);
  await child.said((line) => line === "ready");
  return child;
}

beforeEach(async () => {
  shop = await Shop.create();
  const declared = shop.declare();
  orders = declared.orders;
  db = await open(shop.place.location, { tables: [orders, sums], observers: [declared.add] });
  await attachTables(db, [orders]);
  await db.drain();
  proxy = await startProxy(shop.place.host);
  first = await startMover(locationBehind(proxy, shop.place.schema));
});

afterEach(async () => {
  for (const child of [first, second]) {
    child?.signal("SIGCONT");
    await child?.kill();
  }
  await proxy.close();
  await db.close();
  await shop[Symbol.asyncDispose]();
});

/** Writes until each of `count` later rows has been moved, one after the other. */
async function expectMoved(from: number, count: number): Promise<void> {
  for (let id = from; id < from + count; id++) {
    await shop.sql(
      `insert into T.orders values (${id}, 'a', 1); update T.orders set total = total + 1 where id = 0`,
    );
    const moved = () => db.transact((tx) => tx.get(orders.total, [id]));
    await expect.poll(moved, { timeout: patienceMs }).toBe(1);
  }
}

/** What happens to the first worker, how, and what ends it. */
const faults: [name: string, fail: () => Promise<void>, heal: () => Promise<void>][] = [
  ["is killed", () => first.kill(), async () => undefined],
  ["is stopped, and goes on later", async () => first.signal("SIGSTOP"), async () => first.signal("SIGCONT")],
  [
    "loses its connections",
    async () => {
      proxy.refuse();
      proxy.cut();
    },
    async () => proxy.heal(),
  ],
  ["gets no answers any more", async () => proxy.silence("down"), async () => proxy.heal()],
  ["cannot send any more", async () => proxy.silence("up"), async () => proxy.heal()],
];

test.each(faults)("another worker goes on moving when the one that moves %s", async (_name, fail, heal) => {
  await shop.sql("insert into T.orders values (0, 'sum', 0)");
  await expectMoved(1, 5);
  // Only the first one moves yet, so the fault hits it at some point of a move.
  second = await startMover(shop.place.location);
  const bulk = shop.sql("insert into T.orders select i, 'b', 1 from generate_series(10001, 13000) i");
  await fail();
  await bulk;
  await expectMoved(6, 20);
  await heal();
  await expectMoved(26, 20);
  await shop.expectEqual(db, orders);
  expect(await db.check()).toEqual([]);
});
