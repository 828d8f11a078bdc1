import { setTimeout as turn } from "node:timers/promises";
import { type Database, family, int, json, observer, open, storedAs, table, text } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { uniqueConstraint } from "percolatordb/recipes";
import { ProcessStore, TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { engines, temporaryFolder, withDatabase, withTwo } from "../support/databases.js";
import { gather } from "../support/gather.js";

const before = table("orders", { total: int(), state: text(), tags: family(text()) });
const after = table("orders", { state: text() });

async function fill(db: Database, count: number): Promise<void> {
  await db.transact((tx) => {
    for (let i = 0; i < count; i++) {
      const row = `o${String(i).padStart(4, "0")}`;
      tx.set(before.total, row, i);
      tx.set(before.state, row, "new");
      tx.set(before.tags.at("a"), row, "b");
    }
  });
}

async function rows(db: Database): Promise<readonly object[]> {
  const found: object[] = [];
  await using snapshot = await db.snapshot();
  for await (const { value } of snapshot.scan(before)) found.push({ ...value });
  return found;
}

describe.each(engines)("dropping on $store, $commit", (variant) => {
  test("removes a column's cells, and nobody writes there any more", async () => {
    await withTwo(variant, {}, async (one, other) => {
      await fill(one, 3);
      await fill(other, 3);
      expect(await one.drop({ table: "orders", column: "total" })).toEqual({
        table: "orders",
        column: "total",
        removed: 3,
        continued: false,
      });
      expect(await one.drop({ table: "orders", column: "tags" })).toMatchObject({ removed: 3 });
      expect((await one.schema()).tables).toMatchObject([{ name: "orders", columns: [{ name: "state" }] }]);

      // Both connections have used the old declaration, so they know the table.
      for (const db of [one, other]) {
        const late = db.transact((tx) => tx.set(before.total, "late", 1));
        await expect(late).rejects.toMatchObject({
          code: "SCHEMA",
          message: expect.stringContaining("Column orders.total was dropped"),
        });
        await db.transact((tx) => {
          tx.delete(before.total, "o0000");
          tx.set(before.state, "o0000", "sent");
        });
        await db.transact((tx) => tx.set(after.state, "late", "new"));
      }
      expect(await one.check()).toEqual([]);
    });
  });

  test("a program that wrote a name before it was released compares its declaration again", async () => {
    await withTwo(variant, {}, async (old, now) => {
      await fill(old, 1);
      await now.drop({ table: "orders", column: "total" });
      const begun = await old.begin();
      begun.set(before.total, "begun", 1);
      await now.release({ table: "orders", column: "total" });
      const retyped = table("orders", { total: text() });
      await now.transact((tx) => tx.set(retyped.total, "o1", "much"));
      await expect(begun.commit()).rejects.toMatchObject({ code: expect.stringMatching(/SCHEMA|CONFLICT/) });
      await expect(old.transact((tx) => tx.set(before.total, "late", 1))).rejects.toThrow(
        /orders\.total is recorded as column of text, but declared as column of int/,
      );

      // Nothing is left in a table that nobody knows.
      await now.drop({ table: "orders" });
      await now.release({ table: "orders" });
      await now.transact((tx) => tx.set(retyped.total, "again", "x"));
      expect((await now.schema()).tables).toMatchObject([{ name: "orders", columns: [{ name: "total" }] }]);
    });
  });
});

test("a program that slept through a drop and a release writes only what is recorded", async () => {
  const store = memoryStore();
  await using old = await open(store);
  await fill(old, 1);
  const begun = await old.begin();
  begun.set(before.total, "begun", 1);
  await using now = await open(store);
  await now.drop({ table: "orders", column: "total" });
  await now.release({ table: "orders", column: "total" });
  const retyped = table("orders", { total: text() });
  await now.transact((tx) => tx.set(retyped.total, "o1", "much"));
  await expect(begun.commit()).rejects.toMatchObject({ code: "CONFLICT", retryable: true });
  await expect(old.transact((tx) => tx.set(before.total, "late", 1))).rejects.toMatchObject({
    code: "SCHEMA",
  });
  await old.transact((tx) => tx.set(after.state, "late", "new"));
  await using snapshot = await now.snapshot();
  expect(await gather(snapshot.scan(retyped.total))).toEqual([{ row: "o1", value: "much" }]);
});

test("a dropped table can be declared again once its name is released", async () => {
  await withDatabase({ store: "lmdb", commit: "auto" }, {}, async (db) => {
    await fill(db, 600);
    expect(await db.drop({ table: "orders" })).toMatchObject({ removed: 1_800, continued: false });
    expect((await db.schema()).tables).toEqual([]);
    const again = table("orders", { total: text() });
    await expect(db.transact((tx) => tx.set(again.total, "x", "y"))).rejects.toThrow(
      /Table orders was dropped/,
    );
    await db.release({ table: "orders" });
    await db.transact((tx) => tx.set(again.total, "x", "y"));
    await expect(db.release({ table: "orders" })).rejects.toThrow(/is not dropped/);
  });
});

test("open refuses a program that declares a dropped column", async () => {
  const folder = await temporaryFolder();
  try {
    await using db = await open(folder.path);
    await fill(db, 1);
    await db.drop({ table: "orders", column: "total" });
    await expect(open(folder.path, { tables: [before] })).rejects.toMatchObject({
      code: "SCHEMA",
      message: expect.stringMatching(/orders\.total was dropped.*--release/),
    });
    await (await open(folder.path, { tables: [after] })).close();
    await db.release({ table: "orders", column: "total" });
    await (await open(folder.path, { tables: [before] })).close();
  } finally {
    await folder.remove();
  }
});

test("a drop that was interrupted continues", async () => {
  await using db = await open("memory:");
  await fill(db, 600);
  const stopped = new AbortController();
  const interrupted = db.drop(
    { table: "orders", column: "total" },
    {
      signal: stopped.signal,
      onProgress: ({ changed }) => {
        if (changed > 0) stopped.abort();
      },
    },
  );
  await expect(interrupted).rejects.toMatchObject({ code: "ABORTED" });
  await expect(db.transact((tx) => tx.set(before.total, "x", 1))).rejects.toThrow(/was dropped/);
  await expect(db.release({ table: "orders", column: "total" })).rejects.toThrow(/not dropped completely/);
  expect((await db.schema()).unfinished).toEqual([
    { kind: "drop", table: "orders", column: "total", scanned: 256, changed: 256 },
  ]);
  // Another drop in the table does not hide it.
  await db.drop({ table: "orders", column: "tags" });
  await expect(db.release({ table: "orders", column: "total" })).rejects.toThrow(/not dropped completely/);
  const report = await db.drop({ table: "orders", column: "total" });
  expect(report).toMatchObject({ removed: 600, continued: true });
  expect((await db.schema()).unfinished).toEqual([]);
  for (const row of await rows(db)) expect(row).not.toHaveProperty("total");
});

test("a drop that was paused deletes nothing that was written after the name was released", async () => {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process() });
  const openAs = (environment: ReturnType<typeof clock.process>) =>
    clock.until(open(new ProcessStore(store, environment), { environment, collectEveryMs: 0 }));
  const paused = clock.process();
  const slow = await openAs(paused);
  const fast = await openAs(clock.process());
  const target = { table: "orders", column: "total" };
  await clock.until(fill(slow, 600));
  let hasBegun = false;
  const dropping = slow.drop(target, {
    onProgress: ({ changed }) => {
      if (changed > 0 && !hasBegun) paused.suspend();
      hasBegun = changed > 0;
    },
  });
  while (!paused.isSuspended) await clock.advance(1);
  expect(await clock.until(fast.drop(target))).toMatchObject({ removed: 600, continued: true });
  await clock.until(fast.release(target));
  await clock.until(fill(fast, 600));
  paused.resume();
  expect(await clock.until(dropping)).toMatchObject({ removed: 256 });
  const found = await clock.until(rows(fast));
  expect(found.filter((row) => "total" in row)).toHaveLength(600);
  expect((await clock.until(fast.schema())).unfinished).toEqual([]);
  await clock.until(slow.close());
  await clock.until(fast.close());
});

test("a drop that was interrupted before its first page keeps the name", async () => {
  await using db = await open("memory:");
  await fill(db, 1);
  const stopped = new AbortController();
  const interrupted = db.drop(
    { table: "orders", column: "total" },
    { signal: stopped.signal, onProgress: () => stopped.abort() },
  );
  await expect(interrupted).rejects.toMatchObject({ code: "ABORTED" });
  await expect(db.release({ table: "orders", column: "total" })).rejects.toThrow(/not dropped completely/);
  await db.drop({ table: "orders" });
  await expect(db.release({ table: "orders", column: "total" })).resolves.toBeUndefined();
  expect((await db.schema()).unfinished).toEqual([]);
});

test("a table that has the name of a dropped one begins without what was recorded of that one", async () => {
  const old = table("people", { who: json<string>() });
  const people = table("people", {
    who: json<{ name: string }>(undefined, { version: 2, upgrade: { 1: (name: string) => ({ name }) } }),
  });
  const fillPeople = (db: Database) =>
    db.transact((tx) => {
      for (let i = 0; i < 600; i++) tx.set(old.who, `p${1_000 + i}`, `${i}`);
    });
  const lower = uniqueConstraint("names", old.who, { by: (who) => who.toLowerCase(), version: 2 });
  const exact = uniqueConstraint("names", old.who, { by: (who) => who });
  await using db = await open("memory:");
  await fillPeople(db);
  await lower.rebuild(db);
  const stopped = new AbortController();
  const onProgress = ({ changed }: { changed: number }) => changed > 0 && stopped.abort();
  await expect(db.migrate([people], { signal: stopped.signal, onProgress })).rejects.toThrow();
  for (const name of ["names", "people"]) {
    await db.drop({ table: name });
    await db.release({ table: name });
  }
  expect((await db.schema()).unfinished).toEqual([]);
  await fillPeople(db);
  expect(await db.migrate([people])).toMatchObject([{ changed: 600, continued: false }]);

  await db.transact((tx) => exact.set(tx, "new", "N"));
  await db.transact((tx) => lower.set(tx, "newer", "M"));
  expect((await db.schema()).rebuildsDue).toEqual([{ table: "names", version: 2, built: 1 }]);
});

test("what somebody uses is not dropped, and the error says who", async () => {
  const folder = await temporaryFolder();
  try {
    const watch = observer("watch", before.total, () => undefined);
    await using db = await open(folder.path);
    await using program = await open(folder.path, { tables: [before], observers: [watch] });
    await fill(program, 1);
    const drop = (column?: string) => db.drop({ table: "orders", column });
    await expect(drop("total")).rejects.toThrow(/observer "watch" watches it.*db\.unregister/);
    await expect(program.drop({ table: "orders", column: "state" })).rejects.toThrow(
      /this process declares it/,
    );
    const worker = program.work();
    for (;;) {
      if ((await db.status()).sessions.size > 0) break;
      await turn(5);
    }
    await expect(drop("state")).rejects.toThrow(/orders\.state was not dropped: process .* declares it/);
    await expect(drop()).rejects.toThrow(/orders was not dropped: process .* declares it/);
    await worker.stop();
    await program.close();
    await expect(drop("nothing")).rejects.toThrow(/no orders\.nothing\. Table orders has total, state, tags/);
    await expect(drop("total")).rejects.toThrow(/observer "watch" watches it/);
    await db.unregister("watch");
    await drop("total");
    await drop("tags");
    await expect(drop("state")).rejects.toThrow(/only column of table orders/);
  } finally {
    await folder.remove();
  }
});

test("a renamed column has its old name in the database, and both programs use the same cells", async () => {
  const renamed = table("orders", {
    amount: storedAs("total", int()),
    state: text(),
    labels: storedAs("tags", family(text())),
  });
  await using db = await open("memory:", { tables: [before] });
  await fill(db, 1);
  await db.transact((tx) => {
    tx.set(renamed.amount, "o1", 7);
    tx.set(renamed.labels.at("x"), "o1", "y");
  });
  await using snapshot = await db.snapshot();
  expect(await snapshot.get(before.total, "o1")).toBe(7);
  expect(await snapshot.row(renamed, "o0000")).toEqual({
    amount: 0,
    state: "new",
    labels: new Map([["a", "b"]]),
  });
  expect(await snapshot.row(before, "o1")).toEqual({ total: 7, tags: new Map([["x", "y"]]) });
  expect((await db.schema({ tables: [renamed] })).differences).toEqual([]);
  expect(renamed.amount.name).toBe("total");
  expect(() => table("t", { a: int(), b: storedAs("a", int()) })).toThrow(/a and b are both stored as a/);
  expect(() => storedAs("not a name", int())).toThrow(/cannot name a column/);
});

test.each([0, -1, Number.NaN])("a rate of %s is refused before anything is changed", async (rate) => {
  await using db = await open("memory:");
  await fill(db, 3);
  const dropping = db.drop({ table: "orders", column: "total" }, { rate });
  await expect(dropping).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("`rate` of `db.drop` must be"),
  });
  expect((await db.schema()).dropped).toEqual([]);
});
