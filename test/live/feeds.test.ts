import {
  type CellChange,
  type Database,
  type Feed,
  family,
  feed,
  int,
  observer,
  open,
  PercolatorError,
  table,
  text,
  tuple,
} from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { ProcessStore, TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { trimFeeds } from "../../src/live/feed/trim.js";
import { engines, withTwo } from "../support/databases.js";

const orders = table("orders", { total: int(), state: text(), note: text(), tags: family(text()) });
const lines = table("lines", { amount: int() }, { key: tuple(text(), int()) });
const orderFeed = feed("order-feed", [orders.total, orders.tags, lines.amount]);
const stateFeed = feed("state-feed", [orders.state]);
const feeds = [orderFeed, stateFeed];

/** The first `count` changes of a feed. */
async function take(db: Database, of: Feed, since: number, count: number): Promise<readonly CellChange[]> {
  const found: CellChange[] = [];
  if (count === 0) return found;
  for await (const change of db.changes(of, { since })) {
    found.push(change as CellChange);
    if (found.length === count) break;
  }
  return found;
}

async function now(db: Database): Promise<number> {
  await using snapshot = await db.snapshot();
  return snapshot.timestamp;
}

const show = ({ table: name, row, column, qualifier, value, isLast }: CellChange) =>
  `${name}/${String(row)}/${column.name}${qualifier === undefined ? "" : `:${qualifier}`}=${value}${isLast ? "." : ""}`;

describe.each(engines)("a feed on $store, $commit", (variant) => {
  test("has each committed change of its columns once, in commit order, by whole transactions", async () => {
    await withTwo(variant, { feeds }, async (one, other) => {
      const since = await now(one);
      await one.transact(
        (tx) => {
          tx.set(orders.total, "a", 1);
          tx.set(orders.note, "a", "not followed");
          tx.set(orders.tags.at("red"), "a", "r");
          tx.set(lines.amount, ["a", 2], 20);
        },
        { label: "first" },
      );
      await other.transact((tx) => tx.set(orders.note, "a", "not followed either"));
      await other.transact((tx) => tx.set(orders.state, "a", "new"));
      await other.transact((tx) => {
        tx.delete(orders.total, "a");
        tx.delete(orders.tags.at("red"), "a");
      });
      const tx = await one.begin();
      tx.set(orders.total, "never", 1);
      await tx.rollback();
      await one.transact((again) => again.set(orders.total, "b", 3));
      const changes = await take(other, orderFeed, since, 6);
      expect(changes.map(show)).toEqual([
        "lines/a,2/amount=20",
        "orders/a/tags:red=r",
        "orders/a/total=1.",
        "orders/a/tags:red=undefined",
        "orders/a/total=undefined.",
        "orders/b/total=3.",
      ]);
      expect(changes.map(({ label, isDeleted }) => [label, isDeleted])).toEqual([
        ["first", false],
        ["first", false],
        ["first", false],
        [undefined, true],
        [undefined, true],
        [undefined, false],
      ]);
      const [history] = await one.history(orders.total, "b");
      expect(changes.at(-1)!.commitTimestamp).toBe(history!.commitTimestamp);
      expect((await take(one, stateFeed, since, 1)).map(show)).toEqual(["orders/a/state=new."]);
    });
  });

  test("tells when it begins, and continues from there, however new the feed is", async () => {
    await withTwo(variant, { feeds }, async (one, other) => {
      let begin: (timestamp: number) => void = () => {};
      const begun = new Promise<number>((resolve) => {
        begin = resolve;
      });
      const reading = other.changes(orderFeed, { onBegin: begin });
      const first = reading.next();
      const since = await begun;
      const again = new Promise<number>((resolve) => {
        begin = resolve;
      });
      const ending = new AbortController();
      const following = one.follow(orderFeed, { since, onBegin: begin, signal: ending.signal });
      const followed = following.next();
      expect(await again).toBe(since);
      ending.abort();
      await expect(followed).rejects.toThrow();
      let told: CellChange | undefined;
      void first.then(({ value }) => {
        told = value as CellChange;
      });
      // A new feed may begin with a later commit than the next one.
      for (let total = 1; told === undefined; total++) {
        await one.transact((tx) => tx.set(orders.total, "a", total));
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      expect(told.commitTimestamp).toBeGreaterThan(since);
      expect((await take(other, orderFeed, since, 1)).map(show)).toEqual([show(told)]);
      await reading.return();
    });
  });

  test("tells changes as they are committed, by any process, and which observer made them", async () => {
    const doubled = observer("doubled", orders.state, (tx, { row }) => tx.set(orders.total, row, 2));
    let begin!: (timestamp: number) => void;
    await withTwo(variant, { feeds, observers: [doubled] }, async (one, other) => {
      const begun = new Promise<number>((resolve) => {
        begin = resolve;
      });
      const reading = other.changes(orderFeed, { onBegin: (timestamp) => begin(timestamp) });
      const first = reading.next();
      await begun;
      await one.transact((tx) => tx.set(orders.total, "a", 1));
      expect(show((await first).value as CellChange)).toBe("orders/a/total=1.");
      const second = reading.next();
      await one.transact((tx) => tx.set(orders.state, "a", "new"));
      await one.drain();
      const { value } = await second;
      expect(show(value as CellChange)).toBe("orders/a/total=2.");
      expect((value as CellChange).observer).toBe("doubled");
      await reading.return();
    });
  });

  test("continues after any commit timestamp, in batches of any size", async () => {
    await withTwo(variant, { feeds }, async (one, other) => {
      const since = await now(one);
      for (let index = 0; index < 12; index++) {
        await (index % 2 === 0 ? one : other).transact((tx) => {
          for (let row = 0; row <= index % 3; row++) tx.set(orders.total, `row ${row}`, index);
        });
      }
      const all = await take(one, orderFeed, since, 24);
      const timestamps = all.map(({ commitTimestamp }) => commitTimestamp);
      expect([...timestamps].sort((a, b) => a - b)).toEqual(timestamps);
      for (const from of new Set(timestamps)) {
        const rest = all.filter(({ commitTimestamp }) => commitTimestamp > from);
        expect(await take(other, orderFeed, from, rest.length)).toEqual(rest);
      }
      // 12 transactions: the last batch is full, or not.
      for (const batch of [1, 2, 5, 12]) {
        const small: CellChange[] = [];
        for await (const change of one.changes(orderFeed, { since, batch })) {
          small.push(change as CellChange);
          if (small.length === all.length) break;
        }
        expect(small).toEqual(all);
      }
    });
  });

  test("equals the table at each of its timestamps, whatever commits at the same time", async () => {
    await withTwo(variant, { feeds }, async (one, other) => {
      const since = await now(one);
      const work = async (db: Database, seed: number) => {
        for (let index = 0; index < 15; index++) {
          await db.transact(async (tx) => {
            const row = `row ${(index * seed) % 7}`;
            const before = (await tx.get(orders.total, row)) ?? 0;
            if (before % 5 === 4) tx.delete(orders.total, row);
            else tx.set(orders.total, row, before + 1);
            tx.set(orders.tags.at(`tag ${index % 3}`), row, String(before));
          });
        }
      };
      const reading = take(other, orderFeed, since, 120);
      await Promise.all([work(one, 3), work(other, 5), work(one, 2), work(other, 4)]);
      const changes = await reading;
      const state = new Map<string, unknown>();
      for (const change of changes) {
        const key = `${change.row}/${change.column.name}/${change.qualifier}`;
        if (change.isDeleted) state.delete(key);
        else state.set(key, change.value);
        if (!change.isLast || change.commitTimestamp % 3 > 0) continue;
        expect(await scanned(one, change.commitTimestamp)).toEqual(new Map([...state].sort()));
      }
      expect(await scanned(one, await now(one))).toEqual(new Map([...state].sort()));
      expect(new Set(changes.map(({ commitTimestamp }) => commitTimestamp)).size).toBe(60);
    });
  });

  test("can be followed from a snapshot on, without gap or overlap", async () => {
    await withTwo(variant, { feeds }, async (one, other) => {
      await one.transact((tx) => {
        tx.set(orders.total, "a", 1);
        tx.set(orders.tags.at("red"), "a", "r");
        tx.set(orders.note, "a", "not followed");
        tx.set(lines.amount, ["a", 1], 5);
      });
      const events: string[] = [];
      let last = 0;
      for await (const event of other.follow(orderFeed)) {
        events.push("change" in event ? `${event.type} ${show(event.change as CellChange)}` : event.type);
        if (event.type === "ready") await one.transact((tx) => tx.set(orders.total, "a", 2));
        if (event.type !== "change") continue;
        last = event.change.commitTimestamp;
        break;
      }
      expect(events).toEqual([
        "reset",
        "cell orders/a/tags:red=r",
        "cell orders/a/total=1.",
        "cell lines/a,1/amount=5.",
        "ready",
        "change orders/a/total=2.",
      ]);
      await one.transact((tx) => tx.set(orders.total, "a", 3));
      for await (const event of one.follow(orderFeed, { since: last })) {
        expect(event).toMatchObject({ type: "change", change: { value: 3 } });
        break;
      }
    });
  });

  test("has changes of many megabytes whole, though a batch is full with two of them", async () => {
    await withTwo(variant, { feeds }, async (one, other) => {
      const since = await now(one);
      const long = "x".repeat(700_000);
      const rows = ["a", "b", "c"];
      for (const row of rows) {
        await one.transact((tx) => {
          for (let index = 0; index < 5; index++) tx.set(orders.tags.at(`${index}`), row, `${index}${long}`);
        });
      }
      const changes = await take(other, orderFeed, since, 15);
      expect(changes.map(({ row, value }) => `${String(row)}${value}`)).toEqual(
        rows.flatMap((row) => ["0", "1", "2", "3", "4"].map((each) => row + each + long)),
      );
    });
  });

  test("refuses to continue where changes were removed; following it then begins with a snapshot", async () => {
    const brief = feed("brief", [orders.total], { retentionMs: 1 });
    await withTwo(variant, { feeds: [brief] }, async (one, other) => {
      const since = await now(one);
      await one.transact((tx) => tx.set(orders.total, "a", 1));
      await new Promise((resolve) => setTimeout(resolve, 20));
      await one.transact((tx) => tx.set(orders.note, "a", "later"));
      await one.collect();
      await expect(take(other, brief, since, 1)).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
      for await (const event of other.follow(brief, { since })) {
        expect(event.type).toBe("reset");
        break;
      }
      expect(await one.check()).toEqual([]);
    });
  });

  test("that was removed tells so, and commits go on without it", async () => {
    await withTwo(variant, { feeds }, async (one, other) => {
      const since = await now(one);
      await one.transact((tx) => tx.set(orders.total, "a", 1));
      expect([...(await other.feeds()).keys()].sort()).toEqual(["order-feed", "state-feed"]);
      await one.removeFeed("order-feed");
      await expect(take(one, orderFeed, since, 1)).rejects.toThrow('no feed named "order-feed"');
      await one.transact((tx) => tx.set(orders.total, "a", 2));
      expect(await one.check()).toEqual([]);
    });
  });
});

async function scanned(db: Database, at: number): Promise<ReadonlyMap<string, unknown>> {
  await using snapshot = await db.snapshot({ at });
  const state = new Map<string, unknown>();
  for await (const { row, value } of snapshot.scan(orders)) {
    if (value.total !== undefined) state.set(`${row}/total/undefined`, value.total);
    for (const [qualifier, tag] of value.tags) state.set(`${row}/tags/${qualifier}`, tag);
  }
  return new Map([...state].sort());
}

test("changes of both commit paths come in commit order, in batches of any size", async () => {
  const store = memoryStore();
  await using one = await open(store, { feeds });
  await using two = await open(store, { feeds, commit: "two-phase" });
  const since = await now(one);
  const paths = [one, two, two, one, one, two, one, two];
  for (const [index, db] of paths.entries()) await db.transact((tx) => tx.set(orders.total, "a", index));
  const wanted = paths.map((_, index) => index);
  for (const batch of [1, 3, 100]) {
    const found: unknown[] = [];
    for await (const { value } of one.changes(orderFeed, { since, batch })) {
      found.push(value);
      if (found.length === paths.length) break;
    }
    expect(found).toEqual(wanted);
  }
});

test("a reader that is slower than the retention is told that changes are gone, also within a batch of the past", async () => {
  const brief = feed("brief", [orders.total], { retentionMs: 60_000 });
  const clock = new TestClock();
  const environment = clock.process();
  const db = await clock.until(open("memory:", { feeds: [brief], environment, collectEveryMs: 0 }));
  const since = await clock.until(now(db));
  for (let total = 1; total <= 3; total++) {
    await clock.until(db.transact((tx) => tx.set(orders.total, "a", total)));
  }
  // Nothing else follows commits, so what the reader knows of them is as old as its first batch.
  const reading = db.changes(brief, { since, batch: 1 });
  expect((await clock.until(reading.next())).value).toMatchObject({ value: 1 });
  await clock.advance(120_000);
  await clock.until(db.collect());
  await expect(clock.until(reading.next())).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
  await clock.until(db.close());
});

test("a slow reader is told that changes are gone, also if the retention was lowered meanwhile", async () => {
  const keptFor = (retentionMs: number) => feed("brief", [orders.total], { retentionMs });
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process({ name: "store" }) });
  const openAs = (name: string, feeds: readonly Feed[]) => {
    const environment = clock.process({ name });
    return clock.until(open(new ProcessStore(store, environment), { feeds, environment, collectEveryMs: 0 }));
  };
  const set = (db: Database, total: number) =>
    clock.until(db.transact((tx) => tx.set(orders.total, "a", total)));
  const long = keptFor(86_400_000);
  const reader = await openAs("reader", [long]);
  const since = await clock.until(now(reader));
  for (let total = 1; total <= 3; total++) await set(reader, total);
  const follow = async () => {
    const reading = reader.changes(long, { since, batch: 1 });
    expect((await clock.until(reading.next())).value).toMatchObject({ value: 1 });
    return reading;
  };
  const [one, other] = [await follow(), await follow()];
  await clock.advance(120_000);
  const newer = await openAs("newer", [keptFor(60_000)]);
  await set(newer, 4);
  await clock.until(newer.collect());
  await expect(clock.until(one.next())).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
  // The new program is taken back.
  await clock.until(newer.close());
  const older = await openAs("older", [long]);
  await expect(clock.until(other.next())).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
  await clock.until(older.close());
  await clock.until(reader.close());
});

test("on a distant store, collection waits until every reader knows that the retention was lowered", async () => {
  const keptFor = (retentionMs: number) => feed("brief", [orders.total], { retentionMs });
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process({ name: "store" }) });
  const capabilities = { ...store.capabilities, remote: true };
  const openAs = (name: string, feeds: readonly Feed[]) => {
    const environment = clock.process({ name });
    const place = Object.defineProperty(new ProcessStore(store, environment), "capabilities", {
      value: capabilities,
    });
    return clock.until(open(place, { feeds, environment, collectEveryMs: 0 }));
  };
  const long = keptFor(86_400_000);
  const older = await openAs("older", [long]);
  const since = await clock.until(now(older));
  await clock.until(older.transact((tx) => tx.set(orders.total, "a", 1)));
  await clock.advance(120_000);
  const newer = await openAs("newer", [keptFor(60_000)]);
  await clock.until(trimFeeds(newer.liveSource.registry));
  expect((await clock.until(take(newer, long, since, 1))).map(({ value }) => value)).toEqual([1]);
  await clock.advance(3_000);
  await clock.until(trimFeeds(newer.liveSource.registry));
  await expect(clock.until(take(newer, long, since, 1))).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
  await clock.until(newer.close());
  await clock.until(older.close());
});

test("`db.follow` takes a new snapshot if it falls behind by more than the retention", async () => {
  const brief = feed("brief", [orders.total], { retentionMs: 60_000 });
  const clock = new TestClock();
  const environment = clock.process();
  const db = await clock.until(open("memory:", { feeds: [brief], environment, collectEveryMs: 0 }));
  const begun: number[] = [];
  const following = db.follow(brief, { batch: 1, onBegin: (timestamp) => begun.push(timestamp) });
  const told = async (count: number) => {
    const found: string[] = [];
    while (found.length < count) {
      const { value: event } = await clock.until(following.next());
      if (event) found.push("change" in event ? `${event.type} ${event.change.value}` : event.type);
    }
    return found;
  };
  expect(await told(2)).toEqual(["reset", "ready"]);
  const first = told(1);
  for (let total = 1; total <= 3; total++) {
    await clock.until(db.transact((tx) => tx.set(orders.total, "a", total)));
  }
  expect(await first).toEqual(["change 1"]);
  await clock.advance(120_000);
  await clock.until(db.collect());
  expect(await told(3)).toEqual(["reset", "cell 3", "ready"]);
  await clock.until(db.transact((tx) => tx.set(orders.total, "a", 4)));
  expect(await told(1)).toEqual(["change 4"]);
  expect(begun).toHaveLength(1);
  await clock.until(following.return());
  await clock.until(db.close());
});

describe("bad input", () => {
  const variant = engines[0];

  test.each([
    ["nothing to follow", () => feed("f", []), "needs an array of 1 to 100 columns"],
    ["a bad name", () => feed("a b", [orders.total]), "cannot name a feed"],
    ["a column twice", () => feed("f", [orders.total, orders.total]), "names orders.total twice"],
    ["one cell of a family", () => feed("f", [orders.tags.at("x")]), "cannot follow one cell of the family"],
    ["no column", () => feed("f", ["orders.total" as never]), "must follow columns or families"],
    ["a bad retention", () => feed("f", [orders.total], { retentionMs: 0 }), "`retentionMs` must be"],
    ["an unknown option", () => feed("f", [orders.total], { keep: 1 } as never), "has no option `keep`"],
  ])("%s is refused by `feed`", (_, declare, message) => {
    expect(declare).toThrow(message);
  });

  test("a feed that is unknown, or contradicts its record, or is named twice, is refused", async () => {
    await withTwo(variant, { feeds: [orderFeed], tables: [orders] }, async (db) => {
      await expect(take(db, stateFeed, 0, 1)).rejects.toMatchObject({ code: "SCHEMA" });
      await expect(take(db, orders.total as never, 0, 1)).rejects.toThrow("is not a feed");
      expect(() => db.changes(orderFeed, { from: 1 } as never)).toThrow("has no option `from`");
    });
  });

  test("a bad position or batch is refused, and so is a position before the feed began", async () => {
    await withTwo(variant, { feeds: [orderFeed] }, async (db) => {
      const read = (options: { since?: number; batch?: number }) => db.changes(orderFeed, options).next();
      await expect(read({ since: -1 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      await expect(read({ since: 1e16 })).rejects.toThrow("not in the future");
      await expect(read({ since: Date.now() })).rejects.toThrow(/`since` is .* looks like milliseconds/);
      await expect(read({ batch: 0 })).rejects.toThrow("`batch` must be a whole number from 1 to 100000");
      await expect(db.follow(orderFeed, { batch: 0 }).next()).rejects.toThrow(
        "`batch` must be a whole number",
      );
      await expect(read({ since: 1 })).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
    });
  });

  test("an aborted signal and a closed database end the wait", async () => {
    await withTwo(variant, { feeds: [orderFeed] }, async (db) => {
      const controller = new AbortController();
      const aborted = db.changes(orderFeed, { signal: controller.signal }).next();
      const closed = db.changes(orderFeed).next();
      const failures = Promise.allSettled([aborted, closed]);
      await new Promise((resolve) => setTimeout(resolve, 10));
      controller.abort();
      await db.close();
      const codes = (await failures).map((each) =>
        each.status === "rejected" && each.reason instanceof PercolatorError ? each.reason.code : each.status,
      );
      expect(codes).toEqual(["ABORTED", "CLOSED"]);
    });
  });
});

test("entries stay if the store does not confirm that the feed's floor has moved", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const store = memoryStore({ environment });
  const mutate = store.mutate.bind(store);
  let lost = 0;
  // Requests to which no answer comes, and that were not applied.
  store.mutate = async (mutation, options) => {
    if (Buffer.from(mutation.row).toString() !== "feed/brief") return await mutate(mutation, options);
    lost++;
    return "unknown";
  };
  const brief = feed("brief", [orders.total], { retentionMs: 60_000 });
  const db = await clock.until(open(store, { feeds: [brief], environment, collectEveryMs: 0 }));
  const set = (total: number) => clock.until(db.transact((tx) => tx.set(orders.total, "a", total)));
  await set(0);
  const since = await clock.until(now(db));
  await set(1);
  await clock.advance(120_000);
  await set(2);
  await clock.until(db.collect());
  expect(lost).toBeGreaterThan(0);
  const changes = await clock.until(take(db, brief, since, 2));
  expect(changes.map(({ value }) => value)).toEqual([1, 2]);
  await clock.until(db.close());
});
