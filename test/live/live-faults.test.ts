import {
  type Database,
  int,
  type LiveValue,
  loadPart,
  open,
  type Snapshot,
  StoreError,
  table,
} from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { ProcessStore, TestClock } from "percolatordb/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { ChangeLog } from "../../src/live/query/change-log.js";
import { temporaryFolder } from "../support/databases.js";
import { counted, next, settle } from "./live-values.js";

const counters = table("counters", { value: int() });
const others = table("others", { value: int() });
const tables = [counters, others];

const set = (db: Database, row: string, value: number) =>
  db.transact((tx) => tx.set(counters.value, row, value));

function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A query whose first run stops after its reads, until the gate is opened. */
function stoppedOnce<T>(db: Database, read: (snapshot: Snapshot) => Promise<T>) {
  const halfway = gate();
  let isFirst = true;
  const query = counted(db, async (snapshot) => {
    const value = await read(snapshot);
    if (isFirst) {
      isFirst = false;
      await halfway.opened;
    }
    return value;
  });
  return { query, halfway };
}

/** Waits until all queries are in the index: until every change makes them due. */
async function untilFollowed(db: Database, count: number): Promise<void> {
  while (db.liveSizes.followed < count) await settle();
}

test.each(["before", "after"])("a change during a run, %s it reads the cell, is not lost", async (when) => {
  await using db = await open("memory:", { tables });
  await set(db, "a", 1);
  const witness = db.live((snapshot) => snapshot.get(counters.value, "a"));
  await next(witness);
  const seen = next(witness);
  await untilFollowed(db, 1);
  const halfway = gate();
  let isFirst = true;
  const query = counted(db, async (snapshot) => {
    const early = when === "after" ? await snapshot.get(counters.value, "a") : undefined;
    if (isFirst) {
      isFirst = false;
      await halfway.opened;
    }
    return [early ?? (await snapshot.get(counters.value, "a")), snapshot.timestamp > 0];
  });
  const first = query.next();
  await settle();
  await set(db, "a", 2);
  // The hub has seen the change, and the query has not registered its reads yet.
  expect((await seen).value).toBe(2);
  halfway.open();
  expect((await first).value).toEqual([1, true]);
  expect((await query.next()).value).toEqual([2, true]);
  expect(query.runs).toBe(2);
  await query.end();
  await witness.return();
  expect(db.liveSizes).toEqual({ queries: 0, followed: 0, tables: 0, logged: 0 });
});

test("a query does not run again while the feed of its table is still being recorded", async () => {
  const store = memoryStore();
  const commit = store.atomic!.commit.bind(store.atomic);
  const held = gate();
  let isHeld = false;
  store.atomic!.commit = async (batch, request) => {
    const isRegistry = batch.rows.some(({ row }) => Buffer.from(row).toString().startsWith("registry/feed/"));
    if (isRegistry) {
      isHeld = true;
      await held.opened;
    }
    return commit(batch, request);
  };
  const clock = new TestClock();
  const environment = clock.process({ name: "one" });
  const db = await clock.until(open(store, { tables, environment, collectEveryMs: 0 }));
  const query = counted(db, (snapshot) => snapshot.get(counters.value, "a"));
  expect((await clock.until(query.next())).value).toBe(undefined);
  const changed = query.next();
  while (!isHeld) await settle();
  await clock.advance(5_000);
  expect(query.runs).toBe(1);
  held.open();
  while (db.liveSizes.followed < 1) await clock.advance(10);
  expect(query.runs).toBe(2);
  await clock.until(set(db, "a", 1));
  expect((await clock.until(changed)).value).toBe(1);
  await clock.until(query.end());
  await clock.until(db.close());
});

test("a run that begins while the feeds are read does not miss what was found before it", async () => {
  const store = memoryStore();
  const readRange = store.readRange.bind(store);
  let blocked: ReturnType<typeof gate> | undefined;
  let reached: (() => void) | undefined;
  store.readRange = (read, request) => {
    const isOther =
      read.table === "~feeds" && Buffer.from(read.start!.row).toString().startsWith("live others");
    if (!isOther || blocked === undefined) return readRange(read, request);
    reached?.();
    return blocked.opened.then(() => readRange(read, request));
  };
  await using db = await open(store, { tables });
  await set(db, "a", 1);
  const other = db.live((snapshot) => snapshot.get(others.value, "x"));
  await next(other);
  const slow = counted(db, (snapshot) => snapshot.get(counters.value, "a"));
  await slow.next();
  const witness = db.live((snapshot) => snapshot.get(counters.value, "a"));
  await next(witness);
  const waiting = [other.next(), slow.next()];
  let seen = next(witness);
  await untilFollowed(db, 3);
  await set(db, "a", 2);
  await Promise.all([waiting[1], seen]);
  seen = next(witness);
  await untilFollowed(db, 3);
  await set(db, "a", 3);
  await seen;
  // The slow query is due since the last change. Now the next look stops halfway.
  blocked = gate();
  const isReached = new Promise<void>((resolve) => {
    reached = resolve;
  });
  seen = next(witness);
  await set(db, "a", 4);
  await isReached;
  await settle();
  const third = await slow.next();
  expect(third.value).toBe(3);
  // The change was found. Its query does not wait for the end of the look, and does not run in vain.
  const { runs } = slow;
  expect((await slow.next()).value).toBe(4);
  expect(slow.runs - runs).toBe(1);
  blocked.open();
  blocked = undefined;
  expect((await seen).value).toBe(4);
  await Promise.all([slow.end(), witness.return(), other.return(), ...waiting]);
});

test("a run that began before its table was followed runs again, because a change between may have no entry", async () => {
  await using db = await open("memory:", { tables });
  await set(db, "a", 1);
  const { query, halfway } = stoppedOnce(db, async (snapshot) => snapshot.get(counters.value, "a"));
  const first = query.next();
  await settle();
  await set(db, "a", 2);
  const witness = db.live((snapshot) => snapshot.get(counters.value, "b"));
  await next(witness);
  const waiting = witness.next();
  await untilFollowed(db, 1);
  halfway.open();
  expect((await first).value).toBe(1);
  expect((await query.next()).value).toBe(2);
  await Promise.all([query.end(), witness.return(), waiting]);
});

test("a bulk load that is published during a run is not missed", async () => {
  await using db = await open("memory:", { tables });
  const witness = db.live((snapshot) => snapshot.get(others.value, "a"));
  await next(witness);
  const loaded = next(witness);
  await untilFollowed(db, 1);
  const { query, halfway } = stoppedOnce(
    db,
    async (snapshot) => (await snapshot.get(others.value, "a")) ?? "nothing",
  );
  const first = query.next();
  await settle();
  await db.load("first", [loadPart(others, () => [{ row: "a", value: { value: 7 } }])]);
  expect((await loaded).value).toBe(7);
  halfway.open();
  expect((await first).value).toBe("nothing");
  expect((await query.next()).value).toBe(7);
  await Promise.all([query.end(), witness.return()]);
});

test("a table that a run reads for the first time is followed from then on", async () => {
  await using db = await open("memory:", { tables });
  const query = counted(db, async (snapshot) => {
    const which = await snapshot.get(counters.value, "which");
    return which === undefined ? "none" : ((await snapshot.get(others.value, "a")) ?? "nothing");
  });
  expect((await query.next()).value).toBe("none");
  const second = query.next();
  await set(db, "which", 1);
  expect((await second).value).toBe("nothing");
  const third = query.next();
  await db.transact((tx) => tx.set(others.value, "a", 5));
  expect((await third).value).toBe(5);
  expect(db.liveSizes.tables).toBe(2);
  const fourth = query.next();
  await db.transact((tx) => tx.delete(counters.value, "which"));
  expect((await fourth).value).toBe("none");
  // What it no longer reads is no longer followed.
  expect(db.liveSizes.tables).toBe(1);
  await query.end();
});

test("a feed that is lost is declared again, and its queries miss nothing", async () => {
  const folder = await temporaryFolder();
  const one = await open(folder.path, { tables });
  const other = await open(folder.path, { tables });
  try {
    const query = other.live((snapshot) => snapshot.get(counters.value, "a"));
    await next(query);
    let waiting = next(query);
    await untilFollowed(other, 1);
    for (let value = 1; value <= 5; value++) {
      await one.removeFeed("live counters");
      await set(one, "a", value);
      let found: LiveValue<number | undefined>;
      do {
        found = await waiting;
        waiting = next(query);
      } while (found.value !== value);
    }
    waiting.catch(() => undefined);
    await query.return();
    expect(await one.check()).toEqual([]);
  } finally {
    await other.close();
    await one.close();
    await folder.remove();
  }
});

/** As collection does that has found the lease over just before a new reader has renewed it. */
async function openWithRemoval(clock: TestClock): Promise<Database> {
  const environment = clock.process();
  const db = await clock.until(open("memory:", { environment, tables, collectEveryMs: 0 }));
  const { leases } = db.liveSource;
  const hold = leases.hold.bind(leases);
  vi.spyOn(leases, "hold").mockImplementationOnce(async (follow, signal) => {
    const release = await hold(follow, signal);
    await db.removeFeed("live counters");
    return release;
  });
  return db;
}

test("a live query goes on if its feed is removed between its lease and its first read", async () => {
  const clock = new TestClock();
  const db = await openWithRemoval(clock);
  const query = db.live((snapshot) => snapshot.get(counters.value, "a"));
  expect((await clock.until(next(query))).value).toBe(undefined);
  const second = next(query);
  await clock.advance(1_000);
  await clock.until(set(db, "a", 1));
  expect((await clock.until(second)).value).toBe(1);
  await clock.until(query.return());
  await clock.until(db.close());
});

test("so does a watch", async () => {
  const clock = new TestClock();
  const db = await openWithRemoval(clock);
  const watching = db.watch(counters.value);
  const first = watching.next();
  await clock.advance(1_000);
  await clock.until(set(db, "a", 1));
  expect((await clock.until(first)).value).toMatchObject({ value: 1 });
  await clock.until(watching.return());
  await clock.until(db.close());
});

test("a feed whose lease has ended is removed, and a query that comes back misses nothing", async () => {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process({ name: "store" }) });
  const far = clock.process({ name: "far" });
  const near = clock.process({ name: "near" });
  const options = { tables, collectEveryMs: 0 };
  const reader = await clock.until(open(new ProcessStore(store, far), { ...options, environment: far }));
  const writer = await clock.until(open(new ProcessStore(store, near), { ...options, environment: near }));
  const query = reader.live((snapshot) => snapshot.get(counters.value, "a"));
  await clock.until(next(query));
  const waiting = next(query);
  await clock.advance(1_000);
  far.suspend();
  await clock.advance(130_000);
  await clock.until(writer.collect());
  await clock.until(set(writer, "a", 7));
  far.resume();
  expect((await clock.until(waiting)).value).toBe(7);
  await clock.until(query.return());
  await clock.until(writer.close());
  await clock.until(reader.close());
});

test("an outage is waited for, within `timeoutMs`", async () => {
  const clock = new TestClock();
  const process = clock.process({ name: "p" });
  const store = memoryStore({ environment: process });
  const readRow = store.readRow.bind(store);
  let isOut = false;
  store.readRow = (read, request) => {
    if (isOut && read.table === "counters") throw new StoreError("The store is away.", { retryable: true });
    return readRow(read, request);
  };
  const db = await clock.until(open(store, { environment: process, tables, collectEveryMs: 0 }));
  const query = db.live((snapshot) => snapshot.row(counters, "a"), { timeoutMs: 5_000 });
  isOut = true;
  const first = query.next();
  await clock.advance(3_000);
  isOut = false;
  expect((await clock.until(first)).value).toMatchObject({ value: undefined });
  isOut = true;
  const second = query.next();
  second.catch(() => undefined);
  await clock.until(set(db, "a", 1));
  await clock.advance(6_000);
  await expect(second).rejects.toMatchObject({
    code: "TIMEOUT",
    message: expect.stringContaining("The store is away."),
  });
  await clock.until(db.close());
});

test("an outage while a query waits for its table to be followed does not end it", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const store = memoryStore({ environment });
  const counter = store.atomic!.counter.bind(store.atomic);
  let isOut = false;
  store.atomic!.counter = () => {
    if (isOut) return Promise.reject(new StoreError("The store is away.", { retryable: true }));
    return counter();
  };
  const db = await clock.until(open(store, { environment, tables, collectEveryMs: 0 }));
  const query = db.live((snapshot) => snapshot.get(counters.value, "a"));
  await clock.until(next(query));
  // The table is followed by now. The query learns it at its next run.
  await clock.advance(100);
  isOut = true;
  const second = next(query);
  second.catch(() => undefined);
  await clock.advance(1_000);
  isOut = false;
  await clock.until(set(db, "a", 1));
  expect((await clock.until(second)).value).toBe(1);
  await clock.until(db.close());
});

test("an outage of writes while the feed of a table is recorded does not end its query, however long", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const store = memoryStore({ environment });
  const mutate = store.mutate.bind(store);
  let isOut = false;
  store.mutate = (mutation, request) => {
    if (isOut) return Promise.reject(new StoreError("The store is read-only.", { retryable: true }));
    return mutate(mutation, request);
  };
  const db = await clock.until(open(store, { environment, tables, collectEveryMs: 0 }));
  isOut = true;
  const query = db.live((snapshot) => snapshot.get(counters.value, "a"));
  await clock.until(next(query));
  const second = next(query);
  second.catch(() => undefined);
  await clock.advance(60_000);
  isOut = false;
  await clock.until(set(db, "a", 1));
  expect((await clock.until(second)).value).toBe(1);
  await clock.until(db.close());
});

test("a short outage does not end a watch that has read changes already", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const store = memoryStore({ environment });
  const readRow = store.readRow.bind(store);
  let isOut = false;
  let refused = 0;
  store.readRow = (read, request) => {
    // The floor of the feed.
    if (isOut && Buffer.from(read.row).toString() === "feed/live counters") {
      refused++;
      throw new StoreError("The store is away.", { retryable: true });
    }
    return readRow(read, request);
  };
  const db = await clock.until(open(store, { environment, tables, collectEveryMs: 0 }));
  const watching = db.watch(counters.value);
  const first = watching.next();
  first.catch(() => undefined);
  await clock.advance(1_000);
  isOut = true;
  await clock.until(set(db, "a", 1));
  await clock.advance(1_000);
  expect(refused).toBeGreaterThan(1);
  isOut = false;
  expect((await clock.until(first)).value).toMatchObject({ value: 1 });
  await clock.until(watching.return());
  await clock.until(db.close());
});

test.each(["before", "after"])("a change is not missed if a look fails %s it finds it", async (when) => {
  const store = memoryStore();
  const readRange = store.readRange.bind(store);
  let isAway = false;
  store.readRange = (read, request) => {
    const feed = isAway && read.table === "~feeds" ? Buffer.from(read.start!.row).toString() : "";
    if (feed.startsWith("live others")) {
      const fail = () => Promise.reject(new StoreError("The connection was reset.", { retryable: true }));
      return when === "before" ? fail() : settle().then(fail);
    }
    if (feed.startsWith("live counters") && when === "before")
      return settle().then(() => readRange(read, request));
    return readRange(read, request);
  };
  await using db = await open(store, { tables });
  await set(db, "a", 1);
  const other = db.live((snapshot) => snapshot.get(others.value, "x"));
  await next(other);
  const query = db.live((snapshot) => snapshot.get(counters.value, "a"));
  await next(query);
  const waiting = other.next();
  // Whole looks have succeeded, so the query runs again at their position.
  let changed = next(query);
  await untilFollowed(db, 2);
  await set(db, "a", 2);
  expect((await changed).value).toBe(2);
  changed = next(query);
  await untilFollowed(db, 2);
  isAway = true;
  await set(db, "a", 3);
  expect((await changed).value).toBe(3);
  changed = next(query);
  isAway = false;
  await set(db, "a", 4);
  expect((await changed).value).toBe(4);
  await Promise.all([query.return(), other.return(), waiting]);
  expect(db.liveSizes).toEqual({ queries: 0, followed: 0, tables: 0, logged: 0 });
});

test("a query does not run without a pause while the log of changes is too long for its runs", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const db = await clock.until(open("memory:", { environment, tables, collectEveryMs: 0 }));
  let runs = 0;
  const query = db.live((snapshot) => {
    if (++runs > 100) throw new Error("It runs without a pause.");
    return snapshot.get(counters.value, "a");
  });
  await clock.until(next(query));
  const second = next(query);
  second.catch(() => undefined);
  await clock.advance(1_000);
  // As after 100,000 changes without a look that succeeds.
  const some = vi.spyOn(ChangeLog.prototype, "some").mockReturnValue(undefined);
  onTestFinished(() => some.mockRestore());
  await clock.until(set(db, "a", 1));
  expect((await clock.until(second)).value).toBe(1);
  const third = next(query);
  third.catch(() => undefined);
  const before = runs;
  await clock.advance(2_000);
  expect(runs - before).toBeGreaterThan(1);
  expect(runs - before).toBeLessThan(20);
  some.mockRestore();
  await clock.until(set(db, "a", 2));
  expect((await clock.until(third)).value).toBe(2);
  await clock.until(db.close());
});
