import fc from "fast-check";
import {
  type AnyTable,
  type Column,
  int,
  json,
  observer,
  open,
  type Signal,
  table,
  text,
  tuple,
} from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import {
  answerLost,
  diesAfter,
  openWithHooks,
  ProcessStore,
  requestLost,
  StepHooks,
  showFailure,
  simulate,
  TestClock,
} from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { variants, withDatabase } from "../../../test/support/databases.js";
import { gather } from "../../../test/support/gather.js";
import { hashText } from "../hash.js";
import { combineQueue, combiningCounter } from "../index.js";

describe.each(variants)("on $store, $commit", (variant) => {
  test("every update counts once, for any number of writers and workers", async () => {
    const hits = combiningCounter("hits", { batch: 7 });
    await withDatabase(variant, { observers: [hits.observer] }, async (db) => {
      await using _one = db.work();
      await using _other = db.work();
      const adding = Array.from({ length: 60 }, (_, n) =>
        db.transact((tx) => {
          hits.add(tx, `page ${n % 5}`, 1);
          hits.add(tx, "all", 2);
        }),
      );
      await Promise.all(adding);
      await db.drain();
      await using snapshot = await db.snapshot();
      const pages = Array.from({ length: 5 }, (_, n) => `page ${n}`);
      expect(await snapshot.getMany(hits.values, pages)).toEqual(pages.map(() => 12));
      expect(await snapshot.get(hits.values, "all")).toBe(120);
      expect(await db.check()).toEqual([]);
    });
  });
});

test("adding never conflicts: not with other additions to the key, nor with a run that combines it", async () => {
  const hits = combiningCounter("hits");
  await using db = await open("memory:", { tables: hits.tables, observers: [hits.observer] });
  const [one, other] = [await db.begin(), await db.begin()];
  hits.add(one, "a", 1);
  hits.add(other, "a", 2);
  await one.commit();
  await db.drain();
  await other.commit();
  await db.drain();
  expect(await db.transact((tx) => tx.get(hits.values, "a"))).toBe(3);
  expect(db.metrics.conflicts).toBe(0);
});

test("a view can include updates that are not combined yet", async () => {
  const hits = combiningCounter("hits");
  await using db = await open("memory:", { observers: [hits.observer] });
  await db.transact((tx) => hits.add(tx, "a", 5));
  await db.drain();
  const seen = await db.transact(async (tx) => {
    hits.add(tx, "a", 1);
    hits.add(tx, "b", 1);
    return [
      await hits.get(tx, "a"),
      await hits.get(tx, "b"),
      await hits.get(tx, "c"),
      await tx.get(hits.values, "a"),
    ];
  });
  expect(seen).toEqual([6, 1, undefined, 5]);
});

test("a counter that becomes zero is removed, together with its updates", async () => {
  const hits = combiningCounter("hits");
  await using db = await open("memory:", { observers: [hits.observer] });
  await db.transact((tx) => hits.add(tx, "a", 2));
  await db.drain();
  await db.transact((tx) => hits.add(tx, "a", -2));
  await db.drain();
  await using snapshot = await db.snapshot();
  for (const each of hits.tables) expect(await gather(snapshot.scan(each))).toEqual([]);
});

test("changes are reported in their own transaction, and not if nothing changed", async () => {
  const log = table("log", { changes: json<readonly string[]>() });
  const told: unknown[] = [];
  const hits = combiningCounter("hits", {
    onChange: (tx, changes) => {
      told.push(changes);
      tx.set(
        log.changes,
        "last",
        changes.map(({ key, value }) => `${key}: ${value}`),
      );
    },
  });
  await using db = await open("memory:", { observers: [hits.observer] });
  await db.transact((tx) => {
    hits.add(tx, "a", 1);
    hits.add(tx, "b", 1);
    hits.add(tx, "b", -1);
  });
  await db.drain();
  expect(told).toEqual([[{ key: "a", previous: undefined, value: 1 }]]);
  expect(await db.transact((tx) => tx.get(log.changes, "last"))).toEqual(["a: 1"]);
});

test("the combined values are a column like any other: observers watch it", async () => {
  const hits = combiningCounter("hits");
  const ranks = table("ranks", { rank: text() });
  const rank = observer("rank", hits.values, (tx, { row, value = 0 }) =>
    tx.set(ranks.rank, row, value > 2 ? "popular" : "rare"),
  );
  await using db = await open("memory:", { observers: [hits.observer, rank] });
  for (let n = 0; n < 3; n++) await db.transact((tx) => hits.add(tx, "a", 1));
  await db.drain();
  expect(await db.transact((tx) => tx.get(ranks.rank, "a"))).toBe("popular");
});

test("composite keys, and values that are not numbers", async () => {
  const words = combineQueue("words", {
    key: tuple(text(), int()),
    value: json<readonly string[]>(),
    update: text(),
    combine: (value = [], updates) => [...new Set([...value, ...updates])].sort(),
  });
  await using db = await open("memory:", { observers: [words.observer] });
  for (const word of ["b", "a", "b", "c"]) await db.transact((tx) => words.add(tx, ["x", 1], word));
  await db.drain();
  expect(await db.transact((tx) => tx.get(words.values, ["x", 1]))).toEqual(["a", "b", "c"]);
});

test("a backlog larger than one run is handled in several runs, and nothing is parked", async () => {
  const sizes: number[] = [];
  const sums = combineQueue("sums", {
    value: int(),
    update: int(),
    batch: 2,
    combine: (value = 0, updates) => {
      sizes.push(updates.length);
      return updates.reduce((a, b) => a + b, value);
    },
  });
  await using db = await open("memory:", { observers: [sums.observer] });
  await db.transact((tx) => {
    for (let n = 0; n < 460; n++) sums.add(tx, `key ${n % 3}`, 1);
  });
  await db.drain();
  expect(Math.max(...sizes)).toBeLessThanOrEqual(2);
  expect(sizes.length).toBeGreaterThan(220);
  expect(await gather(db.parked())).toEqual([]);
  await using snapshot = await db.snapshot();
  expect(await snapshot.getMany(sums.values, ["key 0", "key 1", "key 2"])).toEqual([154, 153, 153]);
});

test("a backlog with more bytes than one transaction holds is handled too, and nothing is parked", async () => {
  const texts = combineQueue("texts", {
    value: text(),
    update: text(),
    combine: (value = "", updates) => value + updates.join(""),
  });
  await using db = await open("memory:", { observers: [texts.observer], transactionBytes: 64 * 1024 });
  const keys = Array.from({ length: 100 }, (_, n) => `key ${n}`);
  for (const key of keys) await db.transact((tx) => texts.add(tx, key, "x".repeat(2_048)));
  await db.drain();
  expect(await gather(db.parked())).toEqual([]);
  await using snapshot = await db.snapshot();
  const lengths = (await snapshot.getMany(texts.values, keys)).map((value) => value?.length);
  expect(lengths).toEqual(keys.map(() => 2_048));
});

test("keys at the end of a bucket do not wait endlessly for those at its beginning", async () => {
  const order: string[] = [];
  const sums = combineQueue("sums", {
    value: int(),
    update: int(),
    batch: 2,
    combine: (value = 0, updates, key) => {
      order.push(key);
      return updates.reduce((a, b) => a + b, value);
    },
    // While there is work, every run adds new updates to "a".
    onChange: (tx) => {
      if (order.length < 12) for (let n = 0; n < 2; n++) sums.add(tx, "a", 1);
    },
  });
  await using db = await open("memory:", { observers: [sums.observer] });
  await db.transact((tx) => {
    for (let n = 0; n < 3; n++) sums.add(tx, "a", 1);
    sums.add(tx, "z", 1);
  });
  await db.drain();
  expect(order).toContain("z");
  expect(order.indexOf("z")).toBeLessThan(4);
});

test.each([
  { lost: "the answer", fault: answerLost },
  { lost: "the request", fault: requestLost },
])("an update counts once, even if $lost of the run's commit is lost", async ({ fault }) => {
  const hits = combiningCounter("hits");
  const hooks = new StepHooks();
  const clock = new TestClock();
  await using db = await openWithHooks("memory:", {
    environment: clock.process(),
    observers: [hits.observer],
    hooks,
  });
  hooks.once("one-phase-commit", fault, ({ label }) => label === "hits");
  await db.transact((tx) => hits.add(tx, "a", 1));
  await clock.until(db.drain());
  expect(await db.transact((tx) => tx.get(hits.values, "a"))).toBe(1);
});

test.each(["prewrite", "commit-primary"] as const)(
  "an update counts once, even if the worker dies after %s",
  async (step) => {
    const hits = combiningCounter("hits");
    const options = { observers: [hits.observer], commit: "two-phase" } as const;
    const clock = new TestClock();
    const store = memoryStore({ environment: clock.process() });
    const [first, second] = [clock.process(), clock.process()];
    const hooks = new StepHooks();
    const dying = await openWithHooks(new ProcessStore(store, first), {
      ...options,
      environment: first,
      hooks,
    });
    await using db = await open(new ProcessStore(store, second), { ...options, environment: second });
    hooks.once(step, diesAfter(first), ({ label }) => label === "hits");
    await dying.transact((tx) => {
      hits.add(tx, "a", 1);
      hits.add(tx, "b", 1);
    });
    void dying.drain();
    await clock.advance(1_000);
    expect(first.isDead).toBe(true);
    await clock.until(db.drain());
    const counted = await clock.until(db.transact((tx) => tx.getMany(hits.values, ["a", "b"])));
    expect(counted).toEqual([1, 1]);
  },
);

test("the sums are right, whatever is added in any order", async () => {
  const added = fc.array(
    fc.record({ key: fc.constantFrom("a", "b", "c"), n: fc.integer({ min: -3, max: 3 }) }),
    {
      maxLength: 12,
    },
  );
  await fc.assert(
    fc.asyncProperty(
      added,
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 4 }),
      async (adds, buckets, batch) => {
        const hits = combiningCounter("hits", { buckets, batch });
        await using db = await open("memory:", { observers: [hits.observer] });
        for (const [index, { key, n }] of adds.entries()) {
          await db.transact((tx) => hits.add(tx, key, n));
          if (index % 5 === 4) await db.drain();
        }
        await db.drain();
        await using snapshot = await db.snapshot();
        for (const key of ["a", "b", "c"]) {
          const sum = adds.filter((each) => each.key === key).reduce((a, b) => a + b.n, 0);
          expect(await snapshot.get(hits.values, key)).toBe(sum === 0 ? undefined : sum);
        }
      },
    ),
    { numRuns: 15 },
  );
});

test("simulated: under every fault, the sums equal the added values", async () => {
  const hits = combiningCounter("hits", { buckets: 2, batch: 3 });
  const added = table("added", { times: int() });
  const { failure } = await simulate({
    runs: 6,
    tables: [...hits.tables, added],
    observers: [hits.observer],
    clients: ["one", "two"].map((name) => async ({ db, random, sleep, step }) => {
      for (let n = 1; n <= 4; n++) {
        await sleep(random.next() * 100);
        await step(`add ${n}`, () =>
          db.transact(async (tx) => {
            hits.add(tx, "all", 1);
            tx.set(added.times, name, ((await tx.get(added.times, name)) ?? 0) + 1);
          }),
        );
      }
    }),
    check: async (db) => {
      await using snapshot = await db.snapshot();
      const times = await snapshot.getMany(added.times, ["one", "two"]);
      const sum = times.reduce<number>((a, b = 0) => a + b, 0);
      const counted = (await snapshot.get(hits.values, "all")) ?? 0;
      if (counted !== sum) throw new Error(`${sum} were added, ${counted} are counted.`);
    },
  });
  expect(failure && showFailure(failure)).toBeUndefined();
});

/** The tables of a queue as its rows are stored. */
function storedOf(queue: { readonly tables: readonly AnyTable[] }) {
  const [, updates, buckets] = queue.tables as readonly [AnyTable, AnyTable, AnyTable];
  return {
    update: (updates as unknown as { update: Column<number, readonly [number, string, string]> }).update,
    due: (buckets as unknown as { due: Signal<readonly [number, number]> }).due,
  };
}

test("a run looks at the updates of a few seconds, not at all that were combined before", async () => {
  const clock = new TestClock();
  const hits = combiningCounter("hits");
  const { update } = storedOf(hits);
  await using db = await open("memory:", { environment: clock.process(), observers: [hits.observer] });
  const buckets: number[] = [];
  for (let second = 0; second < 5; second++) {
    await clock.until(db.transact((tx) => hits.add(tx, "all", 1)));
    for (const { row } of await gather((await db.snapshot()).scan(update))) buckets.push(row[0]);
    await clock.until(db.drain());
    await clock.advance(5_000);
  }
  // A transaction starts at the last commit, which the first time is one of opening the database.
  expect(new Set(buckets).size).toBeGreaterThan(3);
  expect(Math.max(...buckets) - Math.min(...buckets)).toBeLessThan(2 ** 22);
  expect(await clock.until(db.transact((tx) => hits.get(tx, "all")))).toBe(5);
});

test("a view includes the updates of all seconds, and not those of other keys", async () => {
  const clock = new TestClock();
  const hits = combiningCounter("hits");
  await using db = await open("memory:", { environment: clock.process(), tables: hits.tables });
  for (let second = 0; second < 3; second++) {
    await clock.until(
      db.transact((tx) => {
        for (let n = 0; n < 50; n++) hits.add(tx, `key ${n}`, n);
      }),
    );
    await clock.advance(5_000);
  }
  const read = db.transact((tx) => Promise.all([7, 49].map((n) => hits.get(tx, `key ${n}`))));
  expect(await clock.until(read)).toEqual([21, 147]);
});

test("updates of earlier versions of the library, in buckets by hash alone, are read and combined", async () => {
  const hits = combiningCounter("hits");
  const { update, due } = storedOf(hits);
  const bucket = hashText("all") % 64;
  await using db = await open("memory:", { tables: hits.tables, observers: [hits.observer] });
  await db.transact((tx) => {
    for (const id of ["x-0", "x-1"]) tx.set(update, [bucket, "all", id], 2);
    tx.notify(due, [bucket, 0]);
    hits.add(tx, "all", 1);
  });
  expect(await db.transact((tx) => hits.get(tx, "all"))).toBe(5);
  await db.drain();
  expect(await db.transact((tx) => tx.get(hits.values, "all"))).toBe(5);
});

test("keys with the same hash share buckets, and are told apart", async () => {
  const hits = combiningCounter("hits");
  const keys = ["key 61382", "key 79346"] as const;
  expect(hashText(keys[0]) >>> 1).toBe(hashText(keys[1]) >>> 1);
  await using db = await open("memory:", { tables: hits.tables, observers: [hits.observer] });
  await db.transact((tx) => {
    hits.add(tx, keys[0], 1);
    hits.add(tx, keys[1], 10);
  });
  expect(await db.transact((tx) => Promise.all(keys.map((key) => hits.get(tx, key))))).toEqual([1, 10]);
  await db.drain();
  expect(await db.transact((tx) => tx.getMany(hits.values, keys))).toEqual([1, 10]);
});

test("a key with the largest hash is read and combined", async () => {
  const hits = combiningCounter("hits");
  const key = "my5dqX";
  expect(hashText(key) >>> 1).toBe(2 ** 31 - 1);
  await using db = await open("memory:", { tables: hits.tables, observers: [hits.observer] });
  await db.transact((tx) => hits.add(tx, key, 1));
  expect(await db.transact((tx) => hits.get(tx, key))).toBe(1);
  await db.drain();
  expect(await db.transact((tx) => tx.get(hits.values, key))).toBe(1);
});

test("a backfill makes updates due that nothing else does", async () => {
  const clock = new TestClock();
  const hits = combiningCounter("hits");
  const store = memoryStore({ environment: clock.process() });
  const environment = clock.process();
  const before = await open(new ProcessStore(store, environment), { tables: hits.tables, environment });
  await clock.until(before.transact((tx) => hits.add(tx, "before the registration", 1)));
  await clock.until(before.close());
  await clock.advance(10_000);
  await using db = await open(new ProcessStore(store, environment), {
    environment,
    tables: hits.tables,
    observers: [hits.observer],
  });
  const keys = ["before the registration", "after it"] as const;
  await clock.until(db.transact((tx) => keys.forEach((key) => void hits.add(tx, key, 2))));
  await clock.until(db.drain());
  const values = () => clock.until(db.transact((tx) => tx.getMany(hits.values, keys)));
  expect(await values()).toEqual([2, 2]);
  for (let times = 0; times < 2; times++) {
    await clock.until(hits.backfill(db));
    await clock.until(db.drain());
    expect(await values()).toEqual([3, 2]);
  }
});

test("a key with more runs in a row than a signal may notify itself is not parked", async () => {
  const hits = combiningCounter("hits", { batch: 1 });
  await using db = await open("memory:", { tables: hits.tables, observers: [hits.observer] });
  await db.transact((tx) => {
    for (let n = 0; n < 1_010; n++) hits.add(tx, "all", 1);
  });
  await db.drain();
  expect(await gather(db.parked())).toEqual([]);
  expect(await db.transact((tx) => tx.get(hits.values, "all"))).toBe(1_010);
});

test("a bucket both of whose turns are due is combined once", async () => {
  const hits = combiningCounter("hits");
  const { update, due } = storedOf(hits);
  await using db = await open("memory:", { tables: hits.tables, observers: [hits.observer] });
  await db.transact((tx) => {
    for (let n = 0; n < 3; n++) hits.add(tx, "all", 1);
  });
  await db.transact(async (tx) => {
    for await (const { row } of tx.scan(update)) tx.notify(due, [row[0], 1]);
  });
  await db.drain();
  expect(await db.transact((tx) => tx.get(hits.values, "all"))).toBe(3);
});

test("a key whose updates cannot be combined does not keep others waiting", async () => {
  const sums = combineQueue("sums", {
    value: int(),
    update: int(),
    observer: { attempts: 1 },
    combine: (value = 0, updates, key) => {
      if (key === "key 7") throw new Error("no sum");
      return updates.reduce((a, b) => a + b, value);
    },
  });
  await using db = await open("memory:", { tables: sums.tables, observers: [sums.observer] });
  const keys = Array.from({ length: 20 }, (_, n) => `key ${n}`);
  await db.transact((tx) => {
    for (const key of keys) sums.add(tx, key, 1);
  });
  await db.drain();
  const values = await db.transact((tx) => tx.getMany(sums.values, keys));
  expect(values).toEqual(keys.map((key) => (key === "key 7" ? undefined : 1)));
  expect(await gather(db.parked())).toHaveLength(1);
});

test("a bucket that was parked after its first run is parked no more once all is combined", async () => {
  let isFailing = false;
  const sums = combineQueue("sums", {
    value: int(),
    update: int(),
    batch: 1,
    observer: { attempts: 1 },
    combine: (value = 0, updates) => {
      if (isFailing) throw new Error("no sum");
      isFailing = value === 0;
      return updates.reduce((a, b) => a + b, value);
    },
  });
  await using db = await open("memory:", { tables: sums.tables, observers: [sums.observer] });
  await db.transact((tx) => {
    for (let n = 0; n < 2; n++) sums.add(tx, "all", 1);
  });
  await db.drain();
  expect(await gather(db.parked())).toHaveLength(1);
  isFailing = false;
  await sums.backfill(db);
  await db.drain();
  expect(await db.transact((tx) => tx.get(sums.values, "all"))).toBe(2);
  expect(await gather(db.parked())).toEqual([]);
});

test("invalid options are refused", () => {
  expect(() => combiningCounter("hits", { buckets: 0 })).toThrow(
    "`buckets` must be a whole number from 1 to 65536",
  );
  expect(() => combiningCounter("hits", { batch: 1.5 })).toThrow("`batch`");
});

test("a counter is exact even if its updates temporarily exceed the safe integers", async () => {
  const most = Number.MAX_SAFE_INTEGER;
  const numbers = fc.constantFrom(most, -most, most - 2, 3 - most, 1, -1, 7);
  await fc.assert(
    fc.asyncProperty(fc.array(numbers, { minLength: 2, maxLength: 7 }), async (updates) => {
      const total = updates.reduce((sum, each) => sum + BigInt(each), 0n);
      const isSafe = total <= BigInt(most) && total >= BigInt(-most);
      const counter = combiningCounter("counter", { buckets: 1 });
      await using db = await open("memory:", { tables: counter.tables });
      await db.transact((tx) => {
        for (const update of updates) counter.add(tx, "a", update);
      });
      const read = db.transact((tx) => counter.get(tx, "a"));
      if (isSafe) expect((await read) ?? 0).toBe(Number(total));
      else await expect(read).rejects.toThrow(`its updates add up to ${total}`);
    }),
    { numRuns: 100 },
  );
});

test("a counter beyond the safe integers refuses, loses nothing, and continues after an update with the other sign", async () => {
  const counter = combiningCounter("counter", { observer: { attempts: 1 } });
  await using db = await open("memory:", { tables: counter.tables, observers: [counter.observer] });
  await db.transact((tx) => counter.add(tx, "a", Number.MAX_SAFE_INTEGER));
  await db.drain();
  await db.transact((tx) => counter.add(tx, "a", 2));
  await db.drain();
  const [parked, ...others] = await gather(db.parked());
  expect(others).toEqual([]);
  expect(JSON.stringify(parked)).toContain("its updates add up to 9007199254740993");
  await db.transact((tx) => counter.add(tx, "a", -5));
  await db.retry(parked!);
  await db.drain();
  expect(await db.transact((tx) => tx.get(counter.values, "a"))).toBe(Number.MAX_SAFE_INTEGER - 3);
});
