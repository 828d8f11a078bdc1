import { type Database, open, systemEnvironment } from "percolatordb";
import { expect, test } from "vitest";
import type { Overview, Past } from "../../src/dashboard/api/index.js";
import { PastMoments, pastTable } from "../../src/dashboard/past/past.js";
import { temporaryFolder, withDatabase } from "../support/databases.js";
import { pages, served, tables, titles } from "./pipeline.js";

const overviewAt = (now: number, pending: number, reach: Overview["reach"] = "here") =>
  ({
    now,
    reach,
    observers: [
      {
        name: "titles",
        pending: { count: pending, isBound: false },
        oldestPendingMs: 1_234.5,
        retrying: { count: 3, isBound: false },
        parked: { count: 2, isBound: false },
        failuresPerSecond: 0.333,
        hosts: 1,
      },
    ],
    pending: { count: pending, isBound: false },
    parked: { count: 2, isBound: false },
    commitsPerSecond: 7,
    conflictsPerSecond: 0,
  }) as unknown as Overview;

/** A clock that the test sets. */
class Clock {
  at = 1_800_000_000_000;
  readonly environment = { ...systemEnvironment, now: () => this.at };
}

const keeping = (db: Database, { environment }: Clock, writable: boolean) =>
  new PastMoments({ db, environment, writable, look: () => Promise.resolve() });

const rowsIn = async (db: Database) => {
  const known = await db.tables();
  const table = known.get(pastTable);
  if (table === undefined) return undefined;
  let count = 0;
  await using snapshot = await db.snapshot();
  for await (const _ of snapshot.scan(table)) count++;
  return count;
};

test("a writable dashboard keeps the last hour in the database, in as many rows as fit an hour", async () => {
  const folder = await temporaryFolder();
  const db = await open(folder.path, { tables, collectEveryMs: 0 });
  const clock = new Clock();
  const past = keeping(db, clock, true);
  for (let count = 0; count < 400; count++) {
    clock.at += 10_000;
    past.see(overviewAt(clock.at, count));
    past.see(overviewAt(clock.at + 1, count + 1));
    // One moment is written at a time.
    await expect.poll(() => past.isWriting, { interval: 1 }).toBe(false);
  }
  past.close();
  expect(await rowsIn(db)).toBe(360);
  const { moments, keptIn, everyMs } = await keeping(db, clock, true).get();
  expect([moments.length, keptIn, everyMs]).toEqual([360, "database", 10_000]);
  expect(moments.map(({ pending }) => pending)).toEqual(
    Array.from({ length: 360 }, (_, index) => 40 + index),
  );
  expect(moments.at(-1)).toEqual({
    at: clock.at,
    pending: 399,
    oldestMs: 1_235,
    parked: 2,
    commits: 7,
    conflicts: 0,
    failures: 0.33,
    observers: { titles: [399, 1_235, 2, 0.33, 1, 3] },
  });
  clock.at += 1_800_000;
  const later = await keeping(db, clock, true).get();
  expect(later.moments).toHaveLength(180);
  expect((await keeping(db, clock, true).get(later.moments.at(-3)!.at)).moments).toHaveLength(2);
  await db.close();
  await folder.remove();
});

test("of two dashboards in one database, the one that knows rates is kept", async () => {
  await withDatabase({ store: "memory", commit: "auto" }, { tables, collectEveryMs: 0 }, async (db) => {
    const clock = new Clock();
    const [heard, unheard] = [keeping(db, clock, true), keeping(db, clock, true)];
    for (const [one, other] of [
      [heard, unheard],
      [unheard, heard],
    ] as const) {
      clock.at += 10_000;
      for (const each of [one, other]) {
        each.see(overviewAt(clock.at, 1, each === heard ? "here" : "store"));
        await expect.poll(() => each.isWriting, { interval: 1 }).toBe(false);
      }
    }
    clock.at += 10_000;
    unheard.see(overviewAt(clock.at, 1, "store"));
    await expect.poll(() => unheard.isWriting, { interval: 1 }).toBe(false);
    const { moments } = await keeping(db, clock, true).get();
    expect(moments.map(({ commits }) => commits)).toEqual([7, 7, undefined]);
  });
});

test("after an outage of the store, a writable dashboard keeps moments in the database again", async () => {
  await withDatabase({ store: "memory", commit: "auto" }, { tables, collectEveryMs: 0 }, async (db) => {
    const clock = new Clock();
    let isAway = true;
    const transact: Database["transact"] = (...given) =>
      isAway ? Promise.reject(new Error("The store does not answer.")) : db.transact(...given);
    const past = keeping({ transact, snapshot: () => db.snapshot() } as unknown as Database, clock, true);
    const kept: Past["keptIn"][] = [];
    for (const away of [true, false]) {
      isAway = away;
      clock.at += 10_000;
      past.see(overviewAt(clock.at, 1));
      await expect.poll(() => past.isWriting, { interval: 1 }).toBe(false);
      kept.push((await past.get()).keptIn);
    }
    expect(kept).toEqual(["memory", "database"]);
    expect(await rowsIn(db)).toBe(1);
    past.close();
  });
});

test("a read-only dashboard keeps the last hour in its memory, and writes nothing", async () => {
  await withDatabase({ store: "memory", commit: "auto" }, { tables, collectEveryMs: 0 }, async (db) => {
    const clock = new Clock();
    const past = keeping(db, clock, false);
    for (let count = 0; count < 400; count++) {
      clock.at += 10_000;
      past.see(overviewAt(clock.at, count));
    }
    const { moments, keptIn } = await past.get();
    expect([moments.length, keptIn, moments[0]!.pending]).toEqual([360, "memory", 40]);
    expect(await rowsIn(db)).toBeUndefined();
  });
});

test("a page that opens gets what came before it, and the growth of backlogs", async () => {
  const options = { tables, observers: [titles], collectEveryMs: 0 };
  await withDatabase({ store: "lmdb", commit: "auto" }, options, async (db) => {
    await using dashboard = await served(db, { writable: true });
    let row = 0;
    const look = async () => {
      for (let count = 0; count < 5; count++) await db.transact((tx) => tx.set(pages.body, `r${row++}`, "x"));
      return await dashboard.get<Overview>("overview");
    };
    await expect.poll(async () => (await look()).growthPerSecond, { interval: 200 }).toBeGreaterThan(0);
    const { observers } = await look();
    expect(observers[0]?.growthPerSecond).toBeGreaterThan(0);
    const { moments } = await dashboard.get<Past>("past");
    expect(moments.length).toBeGreaterThanOrEqual(1);
    expect(moments[0]!.observers.titles![0]).toBeGreaterThan(0);
    // A dashboard that starts later reads what this one has kept.
    await expect.poll(() => rowsIn(db)).toBeGreaterThanOrEqual(1);
    await using next = await served(db, { writable: true });
    expect((await next.get<Past>("past")).moments[0]).toEqual(moments[0]);
    const labels = (await dashboard.get<{ label?: string }[]>("transactions")).map(({ label }) => label);
    expect(labels).not.toContain("dashboard history");
  });
});

test("moments in the database are shown also if the store did not answer the first request", async () => {
  await withDatabase({ store: "memory", commit: "auto" }, { tables, collectEveryMs: 0 }, async (db) => {
    const clock = new Clock();
    const before = keeping(db, clock, true);
    before.see(overviewAt(clock.at, 1));
    await expect.poll(() => before.isWriting, { interval: 1 }).toBe(false);
    before.close();
    let isAway = true;
    const snapshot: Database["snapshot"] = (...given) =>
      isAway ? Promise.reject(new Error("The store does not answer.")) : db.snapshot(...given);
    const transact: Database["transact"] = (...given) => db.transact(...given);
    const past = keeping({ snapshot, transact } as unknown as Database, clock, true);
    expect((await past.get()).moments).toEqual([]);
    isAway = false;
    expect((await past.get()).moments).toHaveLength(1);
    past.close();
  });
});
