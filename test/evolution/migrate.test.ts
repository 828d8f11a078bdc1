import { type Database, feed, json, open, type PassProgress, systemEnvironment, table } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { TestClock } from "percolatordb/testing";
import { describe, expect, test, vi } from "vitest";
import { storedVersion } from "../../src/schema/index.js";
import { engines, withDatabase } from "../support/databases.js";
import { greet2, greetings, people1, people2, splitName } from "./people.js";

/** Longer than any store keeps inside a write record. */
const long = "y".repeat(40_000);

/** The versions of the newest stored values of a row, by column. */
async function versions(db: Database, row: string): Promise<Record<string, number | undefined>> {
  const found: Record<string, number | undefined> = {};
  for (const { column, writes, data } of await db.inspect(people1, row)) {
    const value = writes[0]?.value ?? data[0]?.value;
    if (value === undefined || column === "note" || column.startsWith("~")) continue;
    found[column] = storedVersion(column === "photo" ? "compressed(json)" : "json", value);
  }
  return found;
}

async function now(db: Database): Promise<number> {
  await using snapshot = await db.snapshot();
  return snapshot.timestamp;
}

const peopleFeed = feed("people-feed", [people2.who]);

describe.each(engines)("a migration on $store, $commit", (variant) => {
  test("rewrites every older value in place, and nobody notices", async () => {
    await withDatabase(variant, { observers: [greet2], feeds: [peopleFeed] }, async (db) => {
      await db.transact((tx) => {
        tx.set(people1.who, "ada", { name: "Ada Lovelace" });
        tx.set(people1.who, "long", { name: `Long ${long}` });
        tx.set(people1.friends.at("bob"), "ada", { name: "Bob B" });
        tx.set(people1.photo, "ada", { name: `Photo ${long}` });
        tx.set(people1.note, "ada", "not JSON");
        tx.set(people2.who, "new", { first: "Neo", last: "N" });
        tx.set(people1.who, "gone", { name: "G H" });
      });
      await db.transact((tx) => tx.delete(people1.who, "gone"));
      await db.drain();
      const before = await now(db);
      const written = await db.history(people2.who, "ada");

      await using open = await db.begin();
      expect(await open.get(people2.who, "ada")).toEqual({ first: "Ada", last: "Lovelace" });
      open.set(people2.who, "ada", { first: "Ada", last: "King" });

      const [checked] = await db.migrate([people2], { check: true });
      expect(checked).toMatchObject({ table: "people", scanned: 5, changed: 4, failed: 0 });
      expect(await versions(db, "ada")).toEqual({ who: 1, "friends:bob": 1, photo: 1 });

      const [report] = await db.migrate([people2, greetings]);
      expect(report).toEqual({
        table: "people",
        columns: { who: 2, friends: 2, photo: 2 },
        scanned: 5,
        changed: 4,
        failed: 0,
        failures: [],
        continued: false,
      });
      expect(await versions(db, "ada")).toEqual({ who: 2, "friends:bob": 2, photo: 2 });
      expect(await versions(db, "long")).toEqual({ who: 2 });

      // The versions of the cell, and the observers' work, are those of before.
      expect(await db.history(people2.who, "ada")).toEqual(written);
      for await (const due of db.pending()) expect(due).toBeUndefined();
      await db.drain();
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(greetings.runs, "ada")).toBe("1");
      expect(await snapshot.get(people2.who, "long")).toEqual({ first: "Long", last: long });
      expect(await snapshot.get(people2.friends.at("bob"), "ada")).toEqual({ first: "Bob", last: "B" });
      expect((await snapshot.get(people2.photo, "ada"))?.last).toBe(long);
      expect(await snapshot.get(people2.who, "gone")).toBeUndefined();
      expect(await db.check()).toEqual([]);

      // A transaction that had read the cell before commits as if nothing had happened.
      await open.commit();
      await using after = await db.snapshot();
      expect(await after.get(people2.who, "ada")).toEqual({ first: "Ada", last: "King" });
      const changes: string[] = [];
      for await (const { row } of db.changes(peopleFeed, { since: before })) {
        changes.push(row);
        break;
      }
      expect(changes).toEqual(["ada"]);
      expect(await db.migrate([people2])).toMatchObject([{ changed: 0, failed: 0 }]);
    });
  });
});

/** Fills a table with people of the first version. */
async function fill(db: Database, count: number): Promise<void> {
  await db.transact((tx) => {
    for (let i = 0; i < count; i++)
      tx.set(people1.who, `p${String(i).padStart(4, "0")}`, { name: `N${i} L${i}` });
  });
}

async function countOld(db: Database): Promise<number> {
  const [report] = await db.migrate([people2], { check: true });
  return report!.changed;
}

test("an interrupted migration continues after the last page, and its record goes at the end", async () => {
  await using db = await open("memory:", { tables: [people1] });
  await fill(db, 600);
  const stopped = new AbortController();
  const interrupted = db.migrate([people2], {
    signal: stopped.signal,
    onProgress: ({ changed }) => {
      if (changed > 0) stopped.abort();
    },
  });
  await expect(interrupted).rejects.toMatchObject({ code: "ABORTED" });
  expect(await countOld(db)).toBe(600 - 256);
  const seen: PassProgress[] = [];
  const [report] = await db.migrate([people2], { onProgress: (progress) => seen.push(progress) });
  expect(report).toMatchObject({ scanned: 600, changed: 600, continued: true });
  expect(seen[0]).toMatchObject({ table: "people", scanned: 256, changed: 256 });
  expect(await countOld(db)).toBe(0);
  expect(await db.migrate([people2])).toMatchObject([{ scanned: 600, changed: 0, continued: false }]);
});

test("a pass to another version does not continue an interrupted one", async () => {
  await using db = await open("memory:", { tables: [people1] });
  await fill(db, 600);
  const stopped = new AbortController();
  const onProgress = ({ changed }: PassProgress) => {
    if (changed > 0) stopped.abort();
  };
  await expect(db.migrate([people2], { signal: stopped.signal, onProgress })).rejects.toThrow();
  const people3 = table("people", {
    who: json<{ full: string }>(undefined, {
      version: 3,
      upgrade: {
        1: splitName,
        2: (old: { first: string; last: string }) => ({ full: old.first + old.last }),
      },
    }),
  });
  expect(await db.migrate([people3])).toMatchObject([{ scanned: 600, changed: 600, continued: false }]);
});

test("a transaction that commits a cell while it is rewritten wins", async () => {
  const store = memoryStore();
  const mutate = store.mutate.bind(store);
  let rewrites = 0;
  const db = await open(store, { tables: [people1] });
  store.mutate = async (mutation, options) => {
    // The migration has read the cell, and its new bytes are on their way.
    if (mutation.table === "people" && rewrites++ === 0)
      await db.transact((tx) => tx.set(people1.who, "p0000", { name: "Won Race" }));
    return mutate(mutation, options);
  };
  await fill(db, 1);
  expect(await db.migrate([people2])).toMatchObject([{ changed: 1, failed: 0 }]);
  expect(rewrites).toBe(2);
  await using snapshot = await db.snapshot();
  expect(await snapshot.get(people2.who, "p0000")).toEqual({ first: "Won", last: "Race" });
  const values = (await db.history(people2.who, "p0000")).map(({ value }) => value?.first);
  expect(values).toEqual(["Won", "N0"]);
  expect(await versions(db, "p0000")).toEqual({ who: 2 });
  await db.close();
});

test("a rewrite outlasts some seconds without an answer of the store", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const store = memoryStore({ environment });
  const db = await clock.until(open(store, { tables: [people1], environment, collectEveryMs: 0 }));
  await clock.until(db.transact((tx) => tx.set(people1.who, "ada", { name: "Ada L" })));
  const mutate = store.mutate.bind(store);
  const until = environment.monotonic() + 5_000;
  vi.spyOn(store, "mutate").mockImplementation(async (mutation) =>
    mutation.table === "people" && environment.monotonic() < until ? "unknown" : mutate(mutation),
  );
  expect(await clock.until(db.migrate([people2]))).toMatchObject([{ changed: 1, failed: 0 }]);
  vi.restoreAllMocks();
  expect(await clock.until(versions(db, "ada"))).toEqual({ who: 2 });
  await clock.until(db.close());
});

test("a cell that is deleted and collected while it is rewritten stays deleted", async () => {
  const store = memoryStore();
  const mutate = store.mutate.bind(store);
  let isFirst = true;
  let skippedMs = 0;
  const monotonic = () => systemEnvironment.monotonic() + skippedMs;
  const environment = { ...systemEnvironment, monotonic, now: () => systemEnvironment.now() + skippedMs };
  const options = { tables: [people1], retentionMs: 0, collectEveryMs: 0, environment };
  await using db = await open(store, options);
  store.mutate = async (mutation, request) => {
    if (mutation.table === "people" && isFirst) {
      isFirst = false;
      await db.transact((tx) => tx.delete(people1.who, "p0000"));
      // The migration has held collection back for as long as it may. Nothing of the cell is left, not
      // even the record of the delete.
      skippedMs = 60_000;
      await db.collect();
      expect(await db.inspect(people1, "p0000")).toEqual([]);
    }
    return mutate(mutation, request);
  };
  await fill(db, 1);
  expect(await db.migrate([people2])).toMatchObject([{ changed: 0, failed: 0 }]);
  expect(isFirst).toBe(false);
  expect(await db.inspect(people1, "p0000")).toEqual([]);
});

test("values whose upgrade fails stay as they are, and are reported", async () => {
  await using db = await open("memory:", { tables: [people1] });
  await fill(db, 5);
  let calls = 0;
  const declared = (convert: (old: { name: string }) => unknown) =>
    table("people", { who: json<{ first: string }>(undefined, { version: 2, upgrade: { 1: convert } }) });
  const failing = declared((old) => {
    if (old.name.startsWith("N3")) throw new Error("no N3");
    return { first: old.name };
  });
  for (const check of [true, false]) {
    const [report] = await db.migrate([failing], { check });
    expect(report).toMatchObject({ changed: 4, failed: 1 });
    expect(report!.failures).toEqual([
      { table: "people", row: "p0003", column: "who", error: expect.stringContaining("failed: no N3") },
    ]);
  }
  const random = declared(() => ({ first: String(calls++) }));
  const [unsteady] = await db.migrate([random]);
  expect(unsteady).toMatchObject({ changed: 0, failed: 1 });
  expect(unsteady!.failures[0]!.error).toMatch(/another value each time/);
});

test("a value of a newer version stops the migration", async () => {
  await using db = await open("memory:", { tables: [people1] });
  const people3 = table("people", { who: json<object>(undefined, { version: 3 }) });
  await db.transact((tx) => tx.set(people3.who, "new", {}));
  expect(await db.migrate([people2])).toMatchObject([{ changed: 0, failed: 0 }]);
});

test("a rate bounds the cells changed in a second", async () => {
  const clock = new TestClock();
  const process = clock.process();
  await using db = await open("memory:", { environment: process, tables: [people1] });
  await fill(db, 100);
  const startedAt = clock.now();
  await clock.until(db.migrate([people2], { rate: 20 }));
  const tookMs = clock.now() - startedAt;
  expect(tookMs).toBeGreaterThanOrEqual(4_500);
  expect(tookMs).toBeLessThan(6_000);
  for (const rate of [0, -1, Number.NaN]) {
    await expect(db.migrate([people2], { rate })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
});
