import { type Database, feed, int, open, table } from "percolatordb";
import { openWithHooks, TestClock } from "percolatordb/testing";
import { expect, test } from "vitest";

const orders = table("orders", { total: int() });
const orderFeed = feed("order-feed", [orders.total]);
const options = { tables: [orders], feeds: [orderFeed], collectEveryMs: 0 };
const done = { done: true, value: undefined };

const set = (db: Database, total: number) => db.transact((tx) => tx.set(orders.total, "a", total));

interface FollowOptions {
  readonly signal?: AbortSignal;
}

type Read = (db: Database, given: FollowOptions) => AsyncGenerator<unknown, void, undefined>;
const readers = {
  "db.watch": (db, given) => db.watch(orders, given),
  "db.changes": (db, given) => db.changes(orderFeed, given),
  "db.follow": (db, given) => db.follow(orderFeed, given),
} satisfies Record<string, Read>;
const names = Object.keys(readers) as (keyof typeof readers)[];

/** Opens a database, and begins to read until the first value is there. */
async function begin(clock: TestClock, reader: keyof typeof readers, given: FollowOptions) {
  const db = await clock.until(open("memory:", { ...options, environment: clock.process() }));
  const read: Read = readers[reader];
  const values = read(db, given);
  const first = values.next();
  await clock.advance(1_000);
  await clock.until(set(db, 1));
  expect((await clock.until(first)).done).toBe(false);
  return { db, values };
}

test.each(names)(
  "%s rejects once if its signal was aborted between two values, and is then done",
  async (reader) => {
    const clock = new TestClock();
    const controller = new AbortController();
    const { db, values } = await begin(clock, reader, { signal: controller.signal });
    await clock.until(set(db, 2));
    controller.abort();
    await expect(clock.until(values.next())).rejects.toMatchObject({ code: "ABORTED" });
    expect(await clock.until(values.next())).toEqual(done);
    await clock.until(db.close());
  },
);

test.each(names)("`return` of %s ends it at once, also while a `next` waits", async (reader) => {
  const clock = new TestClock();
  const { db, values } = await begin(clock, reader, {});
  // The second value of `db.follow` is a cell, the third `ready`.
  if (reader === "db.follow") for (let told = 0; told < 2; told++) await clock.until(values.next());
  const waiting = values.next();
  expect(await clock.until(values.return(undefined))).toEqual(done);
  expect(await waiting).toEqual(done);
  await clock.until(db.close());
});

test("a watch whose signal is aborted between two changes no longer keeps the table's feed", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const db = await clock.until(openWithHooks("memory:", { ...options, environment }));
  const controller = new AbortController();
  const first = db.watch(orders, { signal: controller.signal }).next();
  await clock.advance(1_000);
  await clock.until(set(db, 1));
  await clock.until(first);
  controller.abort();
  await clock.advance(200_000);
  await clock.until(db.collect());
  const view = await db.liveSource.registry.fresh();
  expect([...view.feedRecords.keys()]).toEqual(["order-feed"]);
  await clock.until(db.close());
});

test("a watch that waits when the database is closed says so", async () => {
  const clock = new TestClock();
  const { db, values } = await begin(clock, "db.watch", {});
  const waiting = clock.until(values.next());
  const closed = expect(waiting).rejects.toMatchObject({ code: "CLOSED" });
  await clock.settle();
  await clock.until(db.close());
  await closed;
});
