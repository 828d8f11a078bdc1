import { feed, int, open, table } from "percolatordb";
import { TestClock } from "percolatordb/testing";
import { expect, test } from "vitest";

const orders = table("orders", { total: int() });

test("a reader of the past goes on after collection, if its feed keeps the changes", async () => {
  // The feed keeps its changes for a week, the database old versions for a minute only (default: an hour).
  const long = feed("long", [orders.total], { retentionMs: 7 * 86_400_000 });
  const clock = new TestClock();
  const environment = clock.process();
  const options = { feeds: [long], environment, collectEveryMs: 0, retentionMs: 60_000 };
  const db = await clock.until(open("memory:", options));
  const snapshot = await clock.until(db.snapshot());
  const since = snapshot.timestamp;
  await clock.until(snapshot.close());
  for (let total = 1; total <= 3; total++) {
    await clock.until(db.transact((tx) => tx.set(orders.total, "a", total)));
  }
  const reading = db.changes(long, { since, batch: 1 });
  expect((await clock.until(reading.next())).value).toMatchObject({ value: 1 });
  // The program takes long for each change.
  await clock.advance(120_000);
  await clock.until(db.transact((tx) => tx.set(orders.total, "a", 4)));
  await clock.until(db.collect());
  const second = await clock.until(
    reading.next().then(
      (next) => (next.done ? "done" : next.value.value),
      (error: { code: string }) => error.code,
    ),
  );
  // A new reader in the same process, as the docs recommend after a failure.
  const again = db.changes(long, { since, batch: 1 });
  const third = await clock.until(
    again.next().then(
      (next) => (next.done ? "done" : next.value.value),
      (error: { code: string }) => error.code,
    ),
  );
  await clock.until(db.close());
  expect([second, third]).toEqual([2, 1]);
});

test("a watch goes on, or fails, if its consumer was slower than the retention within a batch", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  // Shorter than the 300 s for which a leased feed keeps its entries.
  const options = { tables: [orders], environment, collectEveryMs: 0, retentionMs: 60_000 };
  const db = await clock.until(open("memory:", options));
  const set = (row: string, total: number) =>
    clock.until(db.transact((tx) => tx.set(orders.total, row, total)));
  const watching = db.watch(orders.total);
  const first = watching.next();
  await clock.advance(1_000);
  await set("r0", 0);
  expect((await clock.until(first)).value).toMatchObject({ value: 0 });
  // Nobody waits for commits now. The next look sees all of them, and a batch has 256.
  for (let total = 1; total <= 300; total++) await set(`r${total}`, total);
  for (let total = 1; total <= 256; total++) {
    expect((await clock.until(watching.next())).value).toMatchObject({ value: total });
  }
  await clock.advance(120_000);
  await set("other", 1_000);
  await clock.until(db.collect());
  const answer = await clock.until(
    watching.next().then(
      (next) => (next.done ? "done" : next.value.value),
      (error: { code: string }) => error.code,
    ),
  );
  expect([257, "STALE_SNAPSHOT"]).toContain(answer);
  await clock.until(watching.return());
  await clock.until(db.close());
});
