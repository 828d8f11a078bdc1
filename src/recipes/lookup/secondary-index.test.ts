import fc from "fast-check";
import { int, json, open, table, text, tuple } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { diesAfter, openWithHooks, ProcessStore, StepHooks, TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { variants, withDatabase } from "../../../test/support/databases.js";
import { gather } from "../../../test/support/gather.js";
import { eventualIndex, exactIndex } from "../index.js";

const articles = table("articles", { tags: json<readonly string[]>() });
const byTag = () => eventualIndex("by_tag", articles.tags, { by: text(), of: (tags) => tags });
const byTagExactly = () => exactIndex("by_tag_exactly", articles.tags, { by: text(), of: (tags) => tags });

describe.each(variants)("on $store, $commit", (variant) => {
  test("an observer maintains the index, and so do transactions that write through it", async () => {
    const [index, exact] = [byTag(), byTagExactly()];
    await withDatabase(variant, { observers: [index.observer] }, async (db) => {
      await using _one = db.work();
      await using _other = db.work();
      const writing = Array.from({ length: 12 }, (_, n) =>
        db.transact((tx) =>
          exact.set(tx, `row ${n % 4}`, n % 2 === 0 ? ["even", "all"] : ["odd", "all", "all"]),
        ),
      );
      await Promise.all(writing);
      await db.transact((tx) => exact.delete(tx, "row 0"));
      await db.drain();
      await using snapshot = await db.snapshot();
      for (const each of [index, exact]) {
        expect(await gather(each.find(snapshot, "even"))).toEqual(["row 2"]);
        expect(await gather(each.find(snapshot, "odd"))).toEqual(["row 1", "row 3"]);
        expect(await gather(each.find(snapshot, "all", { limit: 2 }))).toEqual(["row 1", "row 2"]);
        expect(await gather(each.find(snapshot, "nothing"))).toEqual([]);
      }
      expect(await db.check()).toEqual([]);
    });
  });
});

test("ranges in the order of the indexed values, and typed keys", async () => {
  const people = table("people", { age: int() }, { key: tuple(text(), int()) });
  const byAge = exactIndex("by_age", people.age, { by: int(), of: (age) => [age] });
  await using db = await open("memory:");
  await db.transact(async (tx) => {
    for (const [n, age] of [30, 5, 200, 30].entries()) await byAge.set(tx, ["p", n], age);
    expect(await gather(byAge.range(tx))).toEqual([
      { by: 5, row: ["p", 1] },
      { by: 30, row: ["p", 0] },
      { by: 30, row: ["p", 3] },
      { by: 200, row: ["p", 2] },
    ]);
    const between = await gather(byAge.range(tx, { start: 6, end: 200, reverse: true, limit: 1 }));
    expect(between).toEqual([{ by: 30, row: ["p", 3] }]);
  });
});

test("rows from before the index are found after a backfill", async () => {
  const index = byTag();
  const store = memoryStore();
  const db = await open(store);
  await db.transact((tx) => tx.set(articles.tags, "a", ["old"]));
  await db.unregister("nothing").catch(() => {});
  await using later = await open(store, { observers: [index.observer] });
  await later.backfill(index.observer);
  await later.drain();
  await using snapshot = await later.snapshot();
  expect(await gather(index.find(snapshot, "old"))).toEqual(["a"]);
});

test("a worker that dies during its commit leaves no wrong entry", async () => {
  const index = byTag();
  const options = {
    tables: [articles, index.table],
    observers: [index.observer],
    commit: "two-phase",
  } as const;
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
  await dying.transact((tx) => tx.set(articles.tags, "a", ["x", "y"]));
  await clock.until(dying.drain());
  hooks.once("commit-primary", diesAfter(first), ({ label }) => label === "by_tag");
  await dying.transact((tx) => tx.set(articles.tags, "a", ["y", "z"]));
  void dying.drain();
  await clock.advance(1_000);
  expect(first.isDead).toBe(true);
  await clock.until(db.drain());
  const found = db.transact((tx) => gather(index.range(tx)));
  expect((await clock.until(found)).map(({ by }) => by)).toEqual(["y", "z"]);
});

test("both kinds agree with the values, whatever was written in any order", async () => {
  const tags = fc.uniqueArray(fc.constantFrom("", "a", "b", "\0", "é"), { maxLength: 3 });
  const write = fc.record({ row: fc.constantFrom("1", "2", "3"), tags: fc.option(tags, { nil: undefined }) });
  await fc.assert(
    fc.asyncProperty(fc.array(write, { maxLength: 10 }), async (writes) => {
      const [index, exact] = [byTag(), byTagExactly()];
      await using db = await open("memory:", { observers: [index.observer] });
      const expected = new Map<string, readonly string[]>();
      for (const [n, { row, tags = [] }] of writes.entries()) {
        await db.transact((tx) => (tags.length > 0 ? exact.set(tx, row, tags) : exact.delete(tx, row)));
        expected.set(row, tags);
        if (n % 3 === 2) await db.drain();
      }
      await db.drain();
      await using snapshot = await db.snapshot();
      const pairs = [...expected].flatMap(([row, tags]) => tags.map((tag) => `${tag}|${row}`)).sort();
      for (const each of [index, exact]) {
        const found = (await gather(each.range(snapshot))).map(({ by, row }) => `${by}|${row}`);
        expect([...found].sort()).toEqual(pairs);
      }
    }),
    { numRuns: 20 },
  );
});

test("one term is not taken for its characters", async () => {
  const teams = table("teams", { name: text() });
  await using db = await open("memory:");
  for (const given of ["red", undefined, 5]) {
    const exact = exactIndex("by_name", teams.name, { by: text(), of: () => given as never });
    await expect(db.transact((tx) => exact.set(tx, "a", "red"))).rejects.toThrow(
      `Index "by_name", row "a": \`of\` must return an array or another iterable of terms, not ${JSON.stringify(given)}.`,
    );
  }
  const index = eventualIndex("by_name", teams.name, { by: text(), of: (name) => name }, { attempts: 1 });
  await using other = await open("memory:", { observers: [index.observer] });
  await other.transact((tx) => tx.set(teams.name, "a", "red"));
  await other.drain();
  const parked = await gather(other.parked());
  expect(parked.map(({ error }) => error.message)).toEqual([
    expect.stringContaining("For one term, return `[term]`."),
  ]);
});
