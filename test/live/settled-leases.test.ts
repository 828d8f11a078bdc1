import { type Database, open } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { ProcessStore, TestClock } from "percolatordb/testing";
import { expect, test } from "vitest";
import { cells, chain, commit, copy, failureOf, read, stuck, watched } from "../support/settling.js";
import { settle } from "./live-values.js";

/*
 * The feed by which `db.settled` knows what a commit has caused is kept for a while, and can be lost.
 * A process that is behind in time, as one that was paused, shares the store with one that is not.
 */

const minuteMs = 60_000;
const feed = "live observed";

const isRecorded = async (db: Database) => (await db.liveSource.registry.reload()).feedRecords.has(feed);

/** A chain whose second observer hangs, in a process whose clock stands, and a process ten minutes ahead. */
async function behind(use: (paused: Database, ahead: Database, letGo: () => void) => Promise<void>) {
  const startMs = 1_700_000_000_000;
  const clock = new TestClock({ startMs });
  const store = memoryStore({ environment: clock.process() });
  const hanging = stuck("hanging", cells.b);
  const observers = [chain[0]!, hanging.observer, copy("b-to-d", cells.b, cells.d)];
  const paused = await open(store, { observers, environment: clock.process() });
  const later = new TestClock({ startMs: startMs + 10 * minuteMs });
  const ahead = await open(store, { observers, environment: later.process() });
  const worker = paused.work();
  try {
    await paused.settled(await commit(paused, (tx) => tx.set(cells.other, "r", 1)));
    await use(paused, ahead, hanging.letGo);
  } finally {
    hanging.letGo();
    await worker.stop();
    await ahead.close();
    await paused.close();
  }
}

test("a process that was paused until its feed was removed begins a new one", async () => {
  await behind(async (paused, ahead, letGo) => {
    await ahead.collect();
    expect(await isRecorded(ahead)).toBe(false);
    const each = await commit(paused, (tx) => tx.set(cells.a, "r", 1));
    const waiting = paused.settled(each);
    const { isOpen } = watched(waiting);
    while ((await read(paused, cells.d, "r")) === undefined) await settle();
    expect(isOpen()).toBe(true);
    letGo();
    await waiting;
    expect(await isRecorded(paused)).toBe(true);
  });
});

test("a call that waits while its feed is removed goes on with a new one", async () => {
  await behind(async (paused, ahead, letGo) => {
    const each = await commit(paused, (tx) => tx.set(cells.a, "r", 1));
    const waiting = paused.settled(each);
    const { isOpen } = watched(waiting);
    while ((await read(paused, cells.d, "r")) === undefined) await settle();
    await ahead.collect();
    await commit(paused, (tx) => tx.set(cells.other, "r", 2));
    await settle();
    expect(isOpen()).toBe(true);
    letGo();
    await waiting;
  });
});

test("a commit whose entry is no longer kept is waited for as far as it is due", async () => {
  await behind(async (paused, ahead, letGo) => {
    const each = await commit(paused, (tx) => tx.set(cells.a, "r", 1));
    while ((await read(paused, cells.d, "r")) === undefined) await settle();
    // This keeps the feed, but not its entries of before.
    await ahead.settled(await commit(ahead, (tx) => tx.set(cells.other, "r", 2)));
    await ahead.collect();
    expect(await isRecorded(ahead)).toBe(true);
    const waiting = paused.settled(each);
    const { isOpen } = watched(waiting);
    await settle();
    expect(isOpen()).toBe(true);
    letGo();
    await waiting;
  });
});

test("a commit is not settled if its feed was removed, and the process does not know that yet", async () => {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process() });
  const capabilities = { ...store.capabilities, remote: true };
  const openOne = async () => {
    const environment = clock.process();
    const place = new ProcessStore(store, environment);
    Object.defineProperty(place, "capabilities", { value: capabilities });
    return await clock.until(open(place, { observers: chain, collectEveryMs: 0, environment }));
  };
  const reader = await openOne();
  const writer = await openOne();
  // Nobody works. The first call records the feed.
  const first = await clock.until(commit(reader, (tx) => tx.set(cells.other, "r", 1)));
  await clock.until(reader.settled(first));
  await clock.until(writer.removeFeed(feed));
  const each = await clock.until(commit(writer, (tx) => tx.set(cells.a, "r", 1)));
  const failure = failureOf(reader.settled(each, { timeoutMs: 3_000 }));
  failure.catch(() => undefined);
  await clock.advance(5_000);
  expect((await clock.until(failure)).code).toBe("TIMEOUT");
  await clock.until(writer.close());
  await clock.until(reader.close());
});

test("the feed is kept for ten minutes after a call, and then no commit pays for it", async () => {
  const clock = new TestClock();
  await using db = await open("memory:", { observers: chain, environment: clock.process() });
  await using _ = db.work();
  await clock.until(db.settled(await commit(db, (tx) => tx.set(cells.a, "r", 1))));
  await clock.advance(9 * minuteMs);
  await clock.until(db.collect());
  expect(await isRecorded(db)).toBe(true);
  await clock.advance(5 * minuteMs);
  await clock.until(db.collect());
  expect(await isRecorded(db)).toBe(false);
});
