import {
  type Database,
  family,
  feed,
  int,
  observer,
  open,
  signal,
  storedAs,
  systemEnvironment,
  table,
  text,
} from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { uniqueConstraint } from "percolatordb/recipes";
import { ProcessStore, TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { engines, temporaryFolder, withDatabase } from "../support/databases.js";
import { patienceMs, pause } from "../support/waiting.js";

const hourMs = 3_600_000;

/** Collects until `isTrue`, because a cell of a short time expires only when that time has passed. */
async function collectUntil(db: Database, isTrue: () => Promise<boolean>): Promise<number> {
  const end = performance.now() + patienceMs;
  let expired = 0;
  while (performance.now() < end) {
    expired += (await db.collect()).cellsExpired;
    if (await isTrue()) return expired;
    await pause(5);
  }
  throw new Error("The cells do not expire.");
}

const logins = table(
  "logins",
  { token: text(), seen: int(), tags: family(text()), kept: text(), poke: signal() },
  { ttlMs: { token: 20, tags: 20, seen: hourMs } },
);
const gone = table("gone", { count: int() });
const count = observer("count", logins.token, async (tx, { row, value, previous }) => {
  if (value === undefined) tx.set(gone.count, `${row} was ${previous}`, 1);
});
const loginFeed = feed("login-feed", [logins.token]);

describe.each(engines)("expiry on $store, $commit", (variant) => {
  test("deletes old cells as a transaction does: observers, feeds and older snapshots agree", async () => {
    await withDatabase(variant, { observers: [count], feeds: [loginFeed], collectEveryMs: 0 }, async (db) => {
      const written = await db.transact((tx) => {
        for (const row of ["a", "b"]) {
          tx.set(logins.token, row, "secret");
          tx.set(logins.seen, row, 1);
          tx.set(logins.kept, row, "kept");
          tx.set(logins.tags.at("x"), row, "tag");
        }
        return tx;
      });
      await db.drain();
      await using before = await db.snapshot();
      const isGone = async () => {
        await using snapshot = await db.snapshot();
        return (await snapshot.get(logins.token, "b")) === undefined;
      };
      expect(await collectUntil(db, isGone)).toBe(4);
      await using snapshot = await db.snapshot();
      expect(await snapshot.row(logins, "a")).toEqual({ seen: 1, kept: "kept", tags: new Map() });
      expect(await before.get(logins.token, "a")).toBe("secret");
      await db.drain();
      await using derived = await db.snapshot();
      expect(await derived.get(gone.count, "a was secret")).toBe(1);
      const changes = [];
      for await (const change of db.changes(loginFeed, { since: written.commitTimestamp! })) {
        changes.push([change.row, change.value]);
        if (changes.length === 2) break;
      }
      expect(changes).toEqual([
        ["a", undefined],
        ["b", undefined],
      ]);
      expect((await db.collect()).cellsExpired).toBe(0);
      expect((await db.status()).expiries).toMatchObject([
        {
          table: "logins",
          ttlMs: { token: 20, tags: 20, seen: hourMs },
          sweptAt: expect.any(Date),
          expired: 0,
        },
      ]);
      expect(await db.check()).toEqual([]);
    });
  });
});

const sessions = table("sessions", { token: text() }, { ttlMs: hourMs });

async function put(db: Database, ...rows: readonly string[]): Promise<void> {
  await db.transact((tx) => {
    for (const row of rows) tx.set(sessions.token, row, "t");
  });
}

async function rows(db: Database): Promise<readonly string[]> {
  await using snapshot = await db.snapshot();
  const found = [];
  for await (const { row } of snapshot.scan(sessions.token)) found.push(row);
  return found;
}

test("a table that was never swept is due since it was recorded", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  await using db = await open("memory:", {
    environment,
    tables: [sessions],
    expireEveryMs: 0,
    collectEveryMs: 0,
  });
  const recorded = environment.now();
  await clock.advance(hourMs);
  const [expiry] = (await db.status()).expiries;
  expect(expiry!.sweptAt).toBe(undefined);
  expect(Math.abs(expiry!.dueAt.getTime() - recorded)).toBeLessThan(1_000);
});

test("a cell expires when its last write is as old as its time, and reads return it until the sweep", async () => {
  const clock = new TestClock();
  const db = await open("memory:", { environment: clock.process(), collectEveryMs: 0 });
  await put(db, "old", "renewed");
  await clock.advance(hourMs / 2);
  await put(db, "renewed");
  await clock.advance(hourMs / 2 - 1);
  expect((await db.collect()).cellsExpired).toBe(0);
  await clock.advance(2);
  expect(await rows(db)).toEqual(["old", "renewed"]);
  expect((await db.collect()).cellsExpired).toBe(1);
  expect(await rows(db)).toEqual(["renewed"]);
  expect(db.metrics.cellsExpired).toBe(1);
  await db.close();
});

test("the background sweeps a table when a cell expires, and seldom in between", async () => {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process() });
  let scans = 0;
  const readRange = store.readRange.bind(store);
  store.readRange = (read, request) => {
    if (read.table === "sessions") scans++;
    return readRange(read, request);
  };
  const db = await open(store, { environment: clock.process(), collectEveryMs: 1e9, expireEveryMs: 60_000 });
  await put(db, "a");
  await clock.advance(2 * 60_000);
  expect(scans).toBe(1);
  await put(db, "b");
  await clock.advance(50 * 60_000);
  // Nothing can expire before the first cell does, so nobody looks.
  expect(scans).toBe(1);
  await clock.advance(18 * 60_000);
  expect(await rows(db)).toEqual([]);
  scans = 0;
  // One cell a minute: a sweep each tenth of the time.
  for (let minute = 0; minute < 120; minute++) {
    await put(db, `m${minute}`);
    await clock.advance(60_000);
  }
  expect(scans).toBeLessThan(25);
  const left = (await rows(db)).length;
  expect(left).toBeGreaterThanOrEqual(60);
  expect(left).toBeLessThan(70);
  await db.close();
});

test("of several processes, one sweeps a table; if it dies, another continues the sweep", async () => {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process() });
  const options = { collectEveryMs: 1e9, expireEveryMs: 60_000 };
  const sweeps: number[] = [];
  let pages = 0;
  const start = async () => {
    const process = clock.process();
    const reached = new ProcessStore(store, process);
    const db = await clock.until(open(reached, { environment: process, ...options }));
    db.on("expire", ({ cellsExpired }) => sweeps.push(cellsExpired));
    const readRange = reached.readRange.bind(reached);
    reached.readRange = (read, request) => {
      // The process that sweeps dies between the first page and the second.
      if (read.table === "sessions" && clock.passedMs > 59 * 60_000 && ++pages === 2) process.die();
      return readRange(read, request);
    };
    return { db, process };
  };
  const both = [await start(), await start()];
  const filling = put(
    both[0]!.db,
    ...Array.from({ length: 700 }, (_, index) => String(index).padStart(4, "0")),
  );
  await clock.until(filling);
  await clock.advance(5 * 60_000);
  expect(sweeps).toEqual([0]);
  await clock.advance(57 * 60_000);
  const { db } = both.find(({ process }) => !process.isDead)!;
  expect(pages).toBe(2);
  expect(await clock.until(rows(db))).toHaveLength(700 - 256);
  await clock.advance(3 * 60_000);
  expect(await clock.until(rows(db))).toEqual([]);
  expect(sweeps).toEqual([0, 700 - 256]);
  await clock.until(db.close());
});

test("the claim of a process that died is not believed for long, even if its clock was hours ahead", async () => {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process() });
  const options = { collectEveryMs: 1e9, expireEveryMs: 60_000 };
  const filling = clock.process();
  const first = await clock.until(
    open(new ProcessStore(store, filling), { environment: filling, ...options }),
  );
  const names = Array.from({ length: 700 }, (_, index) => String(index).padStart(4, "0"));
  await clock.until(put(first, ...names));
  await clock.advance(5 * 60_000);
  filling.die();
  await clock.advance(57 * 60_000);
  const process = clock.process();
  const ahead = new Proxy(process, {
    get(target, name) {
      if (name === "now") return () => target.now() + 2 * hourMs;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const reached = new ProcessStore(store, process);
  await clock.until(open(reached, { environment: ahead, ...options }));
  let pages = 0;
  const readRange = reached.readRange.bind(reached);
  reached.readRange = (read, request) => {
    if (read.table === "sessions" && ++pages === 2) process.die();
    return readRange(read, request);
  };
  await clock.advance(2 * 60_000);
  expect(pages).toBe(2);
  const db = await clock.until(open(store, { environment: clock.process(), ...options }));
  expect(await clock.until(rows(db))).toHaveLength(700 - 256);
  await clock.advance(3 * 60_000);
  expect(await clock.until(rows(db))).toEqual([]);
  await clock.until(db.close());
});

test("a sweep by a process whose clock was days ahead does not put off those of the others", async () => {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process() });
  const options = { collectEveryMs: 1e9, expireEveryMs: 60_000 };
  const process = clock.process();
  const ahead = new Proxy(process, {
    get(target, name) {
      if (name === "now") return () => target.now() + 48 * hourMs;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const db = await clock.until(open(store, { environment: clock.process(), ...options }));
  await clock.until(put(db, "a"));
  const wrong = await clock.until(open(new ProcessStore(store, process), { environment: ahead, ...options }));
  await clock.advance(2 * 60_000);
  await clock.until(wrong.close());
  await clock.advance(hourMs + 10 * 60_000);
  expect(await clock.until(rows(db))).toEqual([]);
  await clock.until(db.close());
});

test("an interrupted sweep continues, and db.collect then also sweeps what it had passed", async () => {
  let skippedMs = 0;
  const environment = {
    ...systemEnvironment,
    now: () => systemEnvironment.now() + skippedMs,
    monotonic: () => systemEnvironment.monotonic() + skippedMs,
  };
  await using db = await open("memory:", { environment, collectEveryMs: 0 });
  await put(db, ...Array.from({ length: 700 }, (_, index) => String(index).padStart(4, "0")));
  skippedMs += hourMs + 1;
  await put(db, "0000", "0001");
  const stopped = new AbortController();
  const interrupted = db.collect({
    signal: stopped.signal,
    onProgress: ({ cellsExpired }) => {
      skippedMs += 2_000;
      if (cellsExpired > 0) stopped.abort();
    },
  });
  await expect(interrupted).rejects.toMatchObject({ code: "ABORTED" });
  const left = (await rows(db)).length;
  expect(left).toBe(700 - 254);
  skippedMs += hourMs + 1;
  expect((await db.schema()).unfinished).toEqual([]);
  expect((await db.collect()).cellsExpired).toBe(left);
  expect(await rows(db)).toEqual([]);
});

test("a cell that is written while it is deleted stays", async () => {
  let skippedMs = 0;
  const environment = { ...systemEnvironment, now: () => systemEnvironment.now() + skippedMs };
  const store = memoryStore({ environment });
  await using db = await open(store, { environment, collectEveryMs: 0 });
  await put(db, "a", "b");
  skippedMs += hourMs + 1;
  // The sweep has read the page, and has not begun the transaction that deletes.
  const readRange = store.readRange.bind(store);
  let isFirst = true;
  let isRead = false;
  store.readRange = async (read, request) => {
    const page = await readRange(read, request);
    if (read.table === "sessions" && isFirst) {
      isFirst = false;
      await put(db, "a");
      isRead = true;
    }
    return page;
  };
  // It has read the cell again, and has not committed.
  db.on("conflict", () => conflicts++);
  const commit = store.atomic!.commit.bind(store.atomic!);
  let conflicts = 0;
  store.atomic!.commit = async (batch, request) => {
    const isSweep = batch.rows.some(({ table }) => table === "sessions");
    if (isSweep && isRead) {
      isRead = false;
      await put(db, "b");
    }
    return commit(batch, request);
  };
  await put(db, "c");
  expect((await db.collect()).cellsExpired).toBe(0);
  expect(await rows(db)).toEqual(["a", "b", "c"]);
  expect(conflicts).toBe(1);
});

test("a process whose clock is ahead expires nothing too early if the store's clock is right", async () => {
  const store = memoryStore();
  const environment = { ...systemEnvironment, now: () => systemEnvironment.now() + 2 * hourMs };
  await using db = await open(store, { environment, collectEveryMs: 0 });
  await put(db, "a");
  expect((await db.collect()).cellsExpired).toBe(0);
});

test("the database records the time; a program that declares none leaves it, and Infinity ends it", async () => {
  const folder = await temporaryFolder();
  try {
    const plain = table("sessions", { token: text() });
    const longer = table("sessions", { token: text() }, { ttlMs: 2 * hourMs });
    const forever = table("sessions", { token: text() }, { ttlMs: Number.POSITIVE_INFINITY });
    const recorded = async (db: Database) => (await db.schema()).tables[0]?.columns[0]?.ttlMs;
    await using db = await open(folder.path, { tables: [plain], collectEveryMs: 0 });
    expect(await recorded(db)).toBeUndefined();
    expect((await db.schema({ tables: [sessions] })).differences).toEqual([
      {
        name: "sessions.token",
        action: "open",
        text: "Its cells do not expire: open records 3600000 ms, also for existing cells.",
      },
    ]);
    await (await open(folder.path, { tables: [sessions] })).close();
    expect(await recorded(db)).toBe(hourMs);
    await (await open(folder.path, { tables: [plain] })).close();
    expect(await recorded(db)).toBe(hourMs);
    expect((await db.schema({ tables: [plain] })).differences).toMatchObject([
      { name: "sessions.token", action: "program" },
    ]);
    await (await open(folder.path, { tables: [longer] })).close();
    expect(await recorded(db)).toBe(2 * hourMs);
    await (await open(folder.path, { tables: [forever] })).close();
    expect(await recorded(db)).toBeNull();
    expect((await db.schema({ tables: [forever] })).differences).toEqual([]);
    expect((await db.schema({ tables: [plain] })).differences).toEqual([]);
    expect((await db.status()).expiries).toEqual([]);
  } finally {
    await folder.remove();
  }
});

test("wrong times, and those of columns with a unique constraint, are refused", async () => {
  const declare = (ttlMs: never) => () =>
    table("t", { a: text(), s: signal(), old: storedAs("b", text()) }, { ttlMs });
  expect(declare(0 as never)).toThrow(
    /ttlMs must be a whole number of milliseconds above 0, or Infinity, not 0/,
  );
  expect(declare({ a: 1.5 } as never)).toThrow(/ttlMs of a must be a whole number/);
  expect(declare({ c: 1 } as never)).toThrow(/ttlMs names c, but the table declares no such column/);
  expect(declare({ s: 1 } as never)).toThrow(/ttlMs names s, .* a signal, which has no cells/);
  expect(declare("1h" as never)).toThrow(/ttlMs must be a number of milliseconds, or an object/);
  expect(declare({ old: 5 } as never)).not.toThrow();
  const users = table("users", { email: text() }, { ttlMs: hourMs });
  const emails = uniqueConstraint("emails", users.email, { by: (email) => email });
  await expect(open("memory:", { tables: [users, emails.table] })).rejects.toMatchObject({
    code: "SCHEMA",
    message: expect.stringMatching(/Column users\.email cannot have `ttlMs`: table emails must be written/),
  });
});
