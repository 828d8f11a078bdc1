import { type Database, family, int, loadPart, observer, open, table, text } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { ProcessStore, StepHooks, TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { FeedCursor, type FeedSource } from "../../src/live/feed/changes.js";
import type { CommittedEntry } from "../../src/live/feed/feed-entries.js";
import { engines, withTwo } from "../support/databases.js";
import { next } from "./live-values.js";

const orders = table("orders", { total: int(), state: text(), tags: family(text()) });
const others = table("others", { total: int() });
const tables = [orders, others];
const feed = "live orders";

/** Holds the leased feed of a table until the returned function is called. */
async function hold(db: Database): Promise<{ source: FeedSource; release: () => void }> {
  const source = db.liveSource;
  return { source, release: await source.leases.hold({ table: "orders" }) };
}

async function take(cursor: FeedCursor, count: number): Promise<readonly CommittedEntry[]> {
  const found: CommittedEntry[] = [];
  while (found.length < count) found.push(...(await cursor.next(100, undefined)).entries);
  return found;
}

/** The error of a reader whose feed is gone. A store outside of this process tells within a second. */
async function failure(db: Database, cursor: FeedCursor): Promise<unknown> {
  try {
    for (let round = 0; ; round++) {
      const read = cursor.next(100, undefined);
      read.catch(() => undefined);
      await db.transact((tx) => tx.set(orders.total, "a", round));
      await read;
    }
  } catch (error) {
    return error;
  }
}

const show = ({ writes, label }: CommittedEntry) =>
  `${label ?? ""}: ${writes.map(({ table: name, row, column }) => `${name}/${Buffer.from(row)}/${Buffer.from(column).toString().replace("\0", ":")}`).join(" ")}`;

describe.each(engines)("a leased feed on $store, $commit", (variant) => {
  test("has the addresses of all changed cells of its table, without values", async () => {
    const copy = observer("copy", orders.state, (tx, { row }) => tx.set(others.total, row, 1));
    await withTwo(variant, { tables, observers: [copy] }, async (one, other) => {
      const { source, release } = await hold(other);
      const cursor = await FeedCursor.open(source, feed, undefined);
      // Until then, a store without atomic batches may have writers that do not know the feed.
      await source.clock.after(cursor.position - 1, undefined);
      await one.transact(
        (tx) => {
          tx.set(orders.total, "a", 1);
          tx.set(orders.tags.at("red"), "a", "r");
          tx.set(others.total, "a", 1);
        },
        { label: "first" },
      );
      await other.transact((tx) => tx.set(others.total, "b", 1));
      await other.transact((tx) => tx.delete(orders.total, "a"));
      const entries = await take(cursor, 2);
      expect(entries.map(show)).toEqual(["first: orders/a/tags:red orders/a/total", ": orders/a/total"]);
      expect(entries.flatMap(({ writes }) => writes.map(({ value }) => value))).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      // It is not among the feeds that programs declare.
      expect([...(await one.feeds()).keys()]).toEqual([]);
      release();
      expect(await one.check()).toEqual([]);
    });
  });

  test("that was removed and declared again tells its reader so", async () => {
    await withTwo(variant, { tables }, async (one, other) => {
      const first = await hold(other);
      const cursor = await FeedCursor.open(first.source, feed, undefined);
      await one.removeFeed(feed);
      first.release();
      expect(await failure(one, cursor)).toMatchObject({ code: "SCHEMA" });
      const second = await hold(one);
      expect(await failure(one, cursor)).toMatchObject({ code: "STALE_SNAPSHOT" });
      const anew = await FeedCursor.open(second.source, feed, undefined);
      await second.source.clock.after(anew.position - 1, undefined);
      await one.transact((tx) => tx.set(orders.state, "a", "x"));
      expect((await take(anew, 1)).map(show)).toEqual([": orders/a/state"]);
      second.release();
    });
  });

  test("lets a bulk load into its table pass", async () => {
    await withTwo(variant, { tables }, async (one, other) => {
      const { release } = await hold(other);
      await one.load("first", [loadPart(orders, () => [{ row: "a", value: { total: 1 } }])]);
      const query = other.live((snapshot) => snapshot.get(orders.total, "a"));
      expect((await next(query)).value).toBe(1);
      await query.return();
      release();
    });
  });
});

test("collection removes a leased feed and its entries once nobody renews its lease, and not before", async () => {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process({ name: "store" }) });
  const far = clock.process({ name: "far" });
  const near = clock.process({ name: "near" });
  const reader = await clock.until(
    open(new ProcessStore(store, far), { tables, environment: far, collectEveryMs: 0 }),
  );
  const writer = await clock.until(
    open(new ProcessStore(store, near), { tables, environment: near, collectEveryMs: 0 }),
  );
  const entries = async () => {
    const columns = [{ start: new Uint8Array(0), end: undefined }];
    return (await store.readRaw({ table: "~feeds", columns, parts: ["write", "data", "lock"] })).rows.length;
  };
  const write = () => clock.until(writer.transact((tx) => tx.set(orders.total, "a", 1)));
  const { release } = await clock.until(hold(reader));
  await write();
  for (let round = 0; round < 5; round++) {
    await clock.advance(100_000);
    await write();
    await clock.until(writer.collect());
    expect(await entries()).toBeGreaterThan(0);
  }
  release();
  await clock.advance(121_000);
  await clock.until(writer.collect());
  expect(await entries()).toBe(0);
  await write();
  expect(await entries()).toBe(0);
  expect(await clock.until(writer.check())).toEqual([]);
  await clock.until(writer.close());
  await clock.until(reader.close());
});

test("a collector whose clock is ahead takes nothing from those who follow, if timestamps have another clock", async () => {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process({ name: "store" }) });
  const capabilities = { ...store.capabilities, remote: true };
  const openAs = async (name: string, offsetMs: number) => {
    const environment = clock.process({ name, offsetMs });
    const place = Object.defineProperty(new ProcessStore(store, environment), "capabilities", {
      value: capabilities,
    });
    const db = await clock.until(open(place, { tables, collectEveryMs: 0, environment }));
    return { environment, db };
  };
  const reader = await openAs("reader", 0);
  // By more than the retention of the feed.
  const ahead = await openAs("ahead", 360_000);
  const query = reader.db.live((snapshot) => snapshot.get(orders.total, "a"));
  await clock.until(next(query));
  const changed = next(query);
  await clock.advance(1_000);
  await clock.until(reader.db.transact((tx) => tx.set(orders.total, "a", 1)));
  await clock.until(changed);
  const again = next(query);
  // Another process holds the feed too, so that it is not removed as a whole.
  const other = ahead.db.live((snapshot) => snapshot.get(orders.total, "b"));
  await clock.until(next(other));
  const waiting = other.next();
  await clock.advance(1_000);
  reader.environment.suspend();
  await clock.until(ahead.db.transact((tx) => tx.set(orders.total, "a", 7)));
  await clock.until(ahead.db.collect());
  reader.environment.resume();
  expect((await clock.until(again)).value).toBe(7);
  await clock.until(Promise.all([query.return(), other.return(), waiting]));
  await clock.until(ahead.db.close());
  await clock.until(reader.db.close());
});

test("a commit whose view of the registry is outdated reads it again at once, also from a distant store", async () => {
  const hooks = new StepHooks();
  await withTwo({ store: "postgres", commit: "auto" }, { tables, hooks }, async (one, other) => {
    await one.transact((tx) => tx.set(orders.total, "a", 1));
    const { release } = await hold(other);
    const before = hooks.seen.length;
    await one.transact((tx) => tx.set(orders.total, "a", 2));
    const steps = hooks.seen.slice(before).filter(({ name }) => name === "one-phase-commit");
    // Refused under the old registry, then applied under the new one.
    expect(steps).toHaveLength(2);
    release();
  });
});

test("readers that hold a feed at the same time record it once", async () => {
  const store = memoryStore();
  const mutate = store.mutate.bind(store);
  let leases = 0;
  store.mutate = (mutation) => {
    if (Buffer.from(mutation.row).toString() === `feed/${feed}`) leases++;
    return mutate(mutation);
  };
  await using db = await open(store, { tables });
  const first = await Promise.all(Array.from({ length: 50 }, () => hold(db)));
  const more = await Promise.all(Array.from({ length: 50 }, () => hold(db)));
  expect(leases).toBe(1);
  // A feed that was removed is recorded again, and one that nobody holds.
  await db.removeFeed(feed);
  const again = await Promise.all(Array.from({ length: 50 }, () => hold(db)));
  for (const { source, release } of [...first, ...more, ...again]) {
    await FeedCursor.open(source, feed, undefined);
    release();
  }
  (await hold(db)).release();
  expect(leases).toBe(3);
});

test("a reader that gives up while a feed is recorded does not keep others from it", async () => {
  await using db = await open("memory:", { tables });
  const ending = new AbortController();
  const { leases } = db.liveSource;
  const [gone, other] = [leases.hold({ table: "orders" }, ending.signal), leases.hold({ table: "orders" })];
  ending.abort();
  await expect(gone).rejects.toThrow("aborted");
  (await other)();
  await FeedCursor.open(db.liveSource, feed, undefined);
});
