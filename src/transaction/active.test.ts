import { expect, test } from "vitest";
import { type Database, open } from "../database/index.js";
import { StaleSnapshotError } from "../errors/index.js";
import { table, text } from "../schema/index.js";
import { memoryStore } from "../store/memory/index.js";
import { TestClock } from "../testing/index.js";

const pages = table("pages", { title: text() });
const minute = 60_000;
const retentionMs = 60 * minute;

async function start() {
  const clock = new TestClock();
  const environment = clock.process();
  const store = memoryStore({ environment });
  const options = { tables: [pages], retentionMs, collectEveryMs: 0 };
  const db = await clock.until(open(store, { ...options, environment }));
  const other = await clock.until(open(store, { ...options, environment: clock.process() }));
  const write = (value: string) => clock.until(db.transact((tx) => tx.set(pages.title, "a", value)));
  const collect = async (by: Database) => (await clock.until(by.collect())).versionsDropped;
  return { clock, db, other, write, collect };
}

test.each([0, 1])(
  "a snapshot and a transaction older than the retention end, and garbage collection continues (process %i)",
  async (collector) => {
    const { clock, db, other, write, collect } = await start();
    const by = [db, other][collector]!;
    await write("one");
    const snapshot = await clock.until(db.snapshot());
    const transaction = await clock.until(db.begin());
    await write("two");
    await clock.advance(retentionMs - minute);
    expect(await collect(by)).toBe(0);
    expect(await clock.until(snapshot.get(pages.title, "a"))).toBe("one");
    await clock.advance(3 * minute);
    expect(await collect(by)).toBeGreaterThan(0);
    await expect(clock.until(snapshot.get(pages.title, "a"))).rejects.toBeInstanceOf(StaleSnapshotError);
    await expect(clock.until(transaction.get(pages.title, "a"))).rejects.toBeInstanceOf(StaleSnapshotError);
    await clock.until(snapshot.close());
    await clock.until(transaction.rollback());
    expect(await clock.until(db.check())).toEqual([]);
    await clock.until(Promise.all([db.close(), other.close()]));
  },
);

test.each([0, 1])(
  "a snapshot's age counts from when it was taken, however long ago the last commit was (process %i)",
  async (collector) => {
    const { clock, db, other, write, collect } = await start();
    await write("one");
    await clock.advance(10 * retentionMs);
    const snapshot = await clock.until(db.snapshot());
    await write("two");
    await clock.advance(retentionMs - minute);
    await collect([db, other][collector]!);
    expect(await clock.until(snapshot.get(pages.title, "a"))).toBe("one");
    await clock.until(snapshot.close());
    await clock.until(Promise.all([db.close(), other.close()]));
  },
);
