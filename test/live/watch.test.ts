import {
  type CellChange,
  type Database,
  family,
  feed,
  int,
  loadPart,
  observer,
  StaleSnapshotError,
  signal,
  table,
  text,
  tuple,
} from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { openWithHooks, StepHooks, TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { pastEntries } from "../../src/live/watch/past-changes.js";
import { WatchTarget } from "../../src/live/watch/watch-target.js";
import { engines, withTwo } from "../support/databases.js";

const orders = table("orders", { total: int(), state: text(), tags: family(text()), again: signal() });
const lines = table("lines", { amount: int() }, { key: tuple(text(), int()) });
const tables = [orders, lines];
/** Has the same changes as a watch of the table, so that both can be compared. */
const all = feed("all", [orders.total, orders.state, orders.tags]);

type Changes = AsyncGenerator<CellChange, void, undefined>;

async function take(changes: Changes, count: number): Promise<readonly CellChange[]> {
  const found: CellChange[] = [];
  while (found.length < count) {
    const { value } = await changes.next();
    found.push(value as CellChange);
  }
  return found;
}

async function now(db: Database): Promise<number> {
  await using snapshot = await db.snapshot();
  return snapshot.timestamp;
}

const show = ({ table: name, row, column, qualifier, value, isLast }: CellChange) =>
  `${name}/${String(row)}/${column.name}${qualifier === undefined ? "" : `:${qualifier}`}=${value}${isLast ? "." : ""}`;

/** What earlier changes and a declared feed both tell. */
const common = ({ commitTimestamp, ...change }: CellChange) =>
  `${commitTimestamp} ${show({ commitTimestamp, ...change })}`;

/** Some transactions, and the number of changes in them. */
async function work(db: Database, seed: number, count: number): Promise<number> {
  let changes = 0;
  for (let index = 0; index < count; index++) {
    await db.transact(async (tx) => {
      const row = `row ${(index * seed) % 5}`;
      const before = (await tx.get(orders.total, row)) ?? 0;
      if (before % 4 === 3) tx.delete(orders.total, row);
      else tx.set(orders.total, row, before + 1);
      if (index % 3 === 0) tx.set(orders.tags.at(`${index % 2}`), row, `${seed} ${index}`);
    });
    changes += index % 3 === 0 ? 2 : 1;
  }
  return changes;
}

describe.each(engines)("db.watch on $store, $commit", (variant) => {
  test("tells the changes of a table, a column or a family as they are committed", async () => {
    const copy = observer("copy", orders.state, (tx, { row }) => tx.set(orders.total, row, 9));
    await withTwo(variant, { tables, observers: [copy] }, async (one, other) => {
      const since = await now(one);
      const watched = {
        table: other.watch(orders, { since }),
        column: other.watch(orders.total, { since }),
        family: other.watch(orders.tags, { since }),
        cell: other.watch(orders.tags.at("red"), { since }),
        prefix: other.watch(orders.total, { since, prefix: "b" }),
      };
      const next = Object.values(watched).map((changes) => changes.next());
      await one.transact(
        (tx) => {
          tx.set(orders.total, "a", 1);
          tx.set(orders.tags.at("blue"), "a", "b");
          tx.set(orders.tags.at("red"), "a", "r");
          tx.set(lines.amount, ["a", 1], 1);
          tx.notify(orders.again, "a");
        },
        { label: "first" },
      );
      await other.transact((tx) => tx.delete(orders.total, "a"));
      await one.transact((tx) => tx.set(orders.total, "b1", 3));
      const first = (await Promise.all(next)).map(({ value }) => show(value as CellChange));
      expect(first).toEqual([
        "orders/a/tags:blue=b",
        "orders/a/total=1.",
        "orders/a/tags:blue=b",
        "orders/a/tags:red=r.",
        "orders/b1/total=3.",
      ]);
      expect((await take(watched.table as Changes, 4)).map(show)).toEqual([
        "orders/a/tags:red=r",
        "orders/a/total=1.",
        "orders/a/total=undefined.",
        "orders/b1/total=3.",
      ]);
      expect((await take(watched.column as Changes, 2)).map(show)).toEqual([
        "orders/a/total=undefined.",
        "orders/b1/total=3.",
      ]);
      const state = watched.column.next();
      await one.transact((tx) => tx.set(orders.state, "c", "new"));
      await one.drain();
      expect((await state).value).toMatchObject({ row: "c", value: 9, observer: "copy" });
      for (const changes of Object.values(watched)) await changes.return();
      expect(one.liveSizes.tables).toBe(0);
    });
  });

  test("tells what a declared feed tells, from before somebody watched, and while its feed is lost", async () => {
    await withTwo(variant, { tables, feeds: [all] }, async (one, other) => {
      const since = await now(one);
      let count = await work(one, 3, 12);
      count += await work(other, 2, 12);
      const watched = other.watch(orders, { since }) as Changes;
      const found = [...(await take(watched, count))];
      let further = 0;
      const reading = (async () => {
        for await (const change of watched) {
          found.push(change);
          if (found.length === count + further && further > 0) break;
        }
      })();
      const [a, b] = await Promise.all([
        (async () => {
          const before = await work(one, 1, 6);
          await one.removeFeed("live orders");
          return before + (await work(one, 4, 6));
        })(),
        work(other, 3, 12),
      ]);
      further = a + b + 1;
      await one.transact((tx) => tx.set(orders.state, "end", "x"));
      await reading;
      const declared = await take(one.changes(all, { since }) as Changes, count + further);
      expect(found.map(common)).toEqual(declared.map(common));
    });
  });

  test("leaves out rows that were loaded", async () => {
    await withTwo(variant, { tables }, async (one, other) => {
      const since = await now(one);
      await one.load("first", [loadPart(orders, () => [{ row: "a", value: { total: 1 } }])]);
      await one.transact((tx) => tx.set(orders.total, "b", 2));
      const watched = other.watch(orders, { since }) as Changes;
      expect((await take(watched, 1)).map(show)).toEqual(["orders/b/total=2."]);
      await watched.return();
    });
  });
});

const memory = engines[0];

test.each([1, 2, 3, 1_000])(
  "earlier changes are complete and in order, with %i in memory",
  async (maxChanges) => {
    await withTwo(memory, { tables, feeds: [all] }, async (db) => {
      const since = await now(db);
      const count = await work(db, 3, 15);
      await db.transact((tx) => {
        for (let index = 0; index < 20; index++) tx.set(orders.total, `wide ${index}`, index);
      });
      const declared = await take(db.changes(all, { since }) as Changes, count + 20);
      const places: string[] = [];
      const target = new WatchTarget(orders, undefined);
      const read = { since, upTo: await now(db), maxChanges };
      for await (const entry of pastEntries(db.liveSource.registry.context, target, read)) {
        for (const { row } of entry.writes) places.push(`${entry.commitTimestamp} ${Buffer.from(row)}`);
      }
      expect(places).toEqual(declared.map(({ commitTimestamp, row }) => `${commitTimestamp} ${String(row)}`));
    });
  },
);

test("earlier changes of which a collection may have removed some are not told", async () => {
  await withTwo(memory, { tables, retentionMs: 1 }, async (db) => {
    const since = await now(db);
    await db.transact((tx) => tx.set(orders.total, "a", 1));
    const { context } = db.liveSource.registry;
    // As if another process had collected while this one read the table.
    const stale = new StaleSnapshotError("collected");
    const safepoint = { value: { check: () => Promise.reject(stale) } };
    const collected = Object.create(context, { safepoint }) as typeof context;
    const read = { since, upTo: await now(db) };
    const entries = pastEntries(collected, new WatchTarget(orders, undefined), read);
    await expect(entries.next()).rejects.toBe(stale);
  });
});

test.each([
  ["", ""],
  [" behind a large value of their row", "x".repeat(2 * 1024 * 1024)],
])(
  "earlier changes include those of a committed transaction whose other cells are still locked%s",
  async (_, state) => {
    const hooks = new StepHooks();
    await using db = await openWithHooks("memory:", { tables, hooks, commit: "two-phase" });
    await db.transact((tx) => tx.set(orders.state, "b", state));
    const since = await now(db);
    const pause = hooks.pauseBefore("commit-secondary");
    const committing = db.transact((tx) => {
      tx.set(orders.total, "a", 1);
      tx.set(orders.total, "b", 2);
    });
    await pause.reached;
    const watched = db.watch(orders, { since }) as Changes;
    expect((await take(watched, 2)).map(show)).toEqual(["orders/a/total=1", "orders/b/total=2."]);
    await watched.return();
    pause.resume();
    await committing;
  },
);

test("a watcher that is slower than the feed's retention misses nothing", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const db = await clock.until(openWithHooks("memory:", { tables, environment, collectEveryMs: 0 }));
  const watched = db.watch(orders) as Changes;
  const first = watched.next();
  await clock.advance(1_000);
  // More than one read of the feed takes.
  const totals = Array.from({ length: 300 }, (_, total) => total);
  for (const total of totals) await clock.until(db.transact((tx) => tx.set(orders.total, "a", total)));
  await clock.until(first);
  const second = (await clock.until(watched.next())).value as CellChange;
  await clock.advance(600_000);
  await clock.until(db.collect());
  const rest = await clock.until(take(watched, totals.length - 2));
  expect([second, ...rest].map(({ value }) => value)).toEqual(totals.slice(1));
  await clock.until(watched.return());
  await clock.until(db.close());
});

test("values of many small transactions are read together, so that a watcher of a distant store keeps up", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const store = memoryStore({ environment });
  const readRow = store.readRow.bind(store);
  let isDistant = false;
  store.readRow = async (read, request) => {
    if (isDistant && read.table === "orders") {
      await new Promise<void>((resolve) => environment.setTimer(resolve, 10));
    }
    return readRow(read, request);
  };
  const db = await clock.until(openWithHooks(store, { tables, environment, collectEveryMs: 0 }));
  const since = await clock.until(now(db));
  const totals = Array.from({ length: 100 }, (_, total) => total);
  for (const total of totals) await clock.until(db.transact((tx) => tx.set(orders.total, "a", total)));
  const watched = db.watch(orders, { since }) as Changes;
  isDistant = true;
  const begunAt = clock.passedMs;
  const found = await clock.until(take(watched, totals.length));
  expect(found.map(({ value }) => value)).toEqual(totals);
  expect(clock.passedMs - begunAt).toBeLessThan(200);
  await clock.until(watched.return());
  await clock.until(db.close());
});

test("watches that begin together share one pass through the table", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const store = memoryStore({ environment });
  const readRaw = store.readRaw.bind(store);
  let reads = 0;
  store.readRaw = async (read, request) => {
    if (read.table === "orders") {
      reads++;
      await new Promise<void>((resolve) => environment.setTimer(resolve, 1));
    }
    return readRaw(read, request);
  };
  const db = await clock.until(openWithHooks(store, { tables, environment, collectEveryMs: 0 }));
  await clock.until(db.transact((tx) => tx.set(orders.total, "row 1", 1)));
  const readsOf = async (count: number) => {
    reads = 0;
    const watched = Array.from({ length: count }, () => db.watch(orders) as Changes);
    const found = watched.map((changes) => changes.next());
    // One of the sharers gives up. The others go on.
    if (count > 1) await clock.until(watched.shift()!.return());
    await clock.until(db.transact((tx) => tx.set(orders.total, "row 7", count)));
    for (const { value } of await clock.until(Promise.all(found.slice(count > 1 ? 1 : 0)))) {
      expect((value as CellChange).value).toBe(count);
    }
    for (const changes of watched) await clock.until(changes.return());
    await clock.until(db.removeFeed("live orders"));
    return reads;
  };
  const alone = await readsOf(1);
  expect(alone).toBeGreaterThan(0);
  expect(await readsOf(100)).toBe(alone);
  await clock.until(db.close());
});

describe("bad use of db.watch", () => {
  test.each([
    ["a signal", [orders.again], "cannot watch the signal orders.again"],
    ["something else", ["orders"], "takes a column, a family or a table"],
    ["an unknown option", [orders, { batch: 1 }], "has no option `batch`"],
    ["a bad signal", [orders, { signal: 1 }], "`signal` of `db.watch` must be"],
  ])("%s is refused", async (_, given, message) => {
    await withTwo(memory, { tables }, async (db) => {
      expect(() => db.watch(...(given as unknown as [typeof orders]))).toThrow(message);
    });
  });

  test("a `since` in the future, or older than the retention, is refused", async () => {
    await withTwo(memory, { tables, retentionMs: 1 }, async (db) => {
      const read = (since: never) => db.watch(orders, { since }).next();
      await expect(read(-1 as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      await expect(read("yesterday" as never)).rejects.toThrow("`since` must be a timestamp or a Date");
      await expect(read(Date.now() as never)).rejects.toThrow(/`since` is .* looks like milliseconds/);
      const since = await now(db);
      for (let round = 0; round < 3; round++) {
        await db.transact((tx) => tx.set(orders.total, "a", round));
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await db.collect();
      await expect(read(since as never)).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
      await expect(read(new Date(1) as never)).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
    });
  });
});
