import { bytes, type Database, feed, open, table } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { TestClock } from "percolatordb/testing";
import { expect, test, vi } from "vitest";
import { trimFeeds } from "../../src/live/feed/trim.js";
import { PassingStore } from "../../src/transaction/wire/passing-store.js";

const files = table("files", { content: bytes() });
const brief = feed("brief", [files.content], { retentionMs: 60_000 });
/** Its entry is on several pages. */
const large = 2_500_000;

async function start(commit: "auto" | "two-phase", mutationCells?: number) {
  const clock = new TestClock();
  const environment = clock.process();
  const store = memoryStore({ environment, mutationCells });
  const db = await clock.until(open(store, { feeds: [brief], environment, collectEveryMs: 0, commit }));
  const set = (size: number) =>
    clock.until(db.transact((tx) => tx.set(files.content, "a", new Uint8Array(size).fill(7))));
  return { clock, store, db, set };
}

const trim = (db: Database, signal?: AbortSignal) => trimFeeds(db.liveSource.registry, signal);

async function now(db: Database): Promise<number> {
  await using snapshot = await db.snapshot();
  return snapshot.timestamp;
}

/** Calls a function before a read goes on within an entry. */
function within(
  { store }: Pick<Awaited<ReturnType<typeof start>>, "store">,
  method: "readRaw" | "readRange",
  run: () => unknown,
): { readonly calls: number } {
  const read = store[method].bind(store) as (...given: unknown[]) => Promise<never>;
  const seen = { calls: 0 };
  vi.spyOn(store, method).mockImplementation((async (...given: Parameters<typeof store.readRange>) => {
    const [{ table: name, start: from }] = given;
    if (name === "~feeds" && from?.column !== undefined && seen.calls++ === 0) await run();
    return await read(...given);
  }) as never);
  return seen;
}

test("a large entry is removed at once, also if the removal is interrupted", async () => {
  const started = await start("auto");
  const { clock, store, db, set } = started;
  const since = await clock.until(now(db));
  await set(1);
  await set(large);
  const reading = db.changes(brief, { since, batch: 1 });
  expect((await clock.until(reading.next())).done).toBe(false);
  const parts = async () => {
    const columns = [{ start: new Uint8Array(0), end: undefined }];
    let count = 0;
    for (let from: Parameters<typeof store.readRaw>[0]["start"] | null; from !== null; ) {
      const page = await store.readRaw({ table: "~feeds", start: from, columns, parts: ["write"] });
      for (const { cells } of page.rows) count += cells.length;
      from = page.next ?? null;
    }
    return count;
  };
  await clock.advance(120_000);
  const closing = new AbortController();
  const interrupted = within(started, "readRaw", () => closing.abort());
  await expect(clock.until(trim(db, closing.signal))).rejects.toMatchObject({ code: "ABORTED" });
  expect(interrupted.calls).toBe(1);
  vi.restoreAllMocks();
  expect(await clock.until(parts())).toBe(3);
  await clock.until(trim(db));
  expect(await clock.until(parts())).toBe(0);
  await expect(clock.until(reading.next())).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
  await clock.until(db.close());
});

test("an entry with more parts than one mutation may delete is removed", async () => {
  const { clock, store, db, set } = await start("auto", 5);
  await set(large);
  await clock.advance(120_000);
  await clock.until(trim(db));
  const columns = [{ start: new Uint8Array(0), end: undefined }];
  const { rows } = await store.readRaw({ table: "~feeds", columns, parts: ["write", "data"] });
  expect(rows).toEqual([]);
  await clock.until(db.close());
});

test.each(["auto", "two-phase"] as const)(
  "a slow reader is told that changes are gone, if a large one is removed while it is read (%s)",
  async (commit) => {
    const started = await start(commit);
    const { clock, db, set } = started;
    const since = await clock.until(now(db));
    await set(1);
    await set(large);
    const reading = db.changes(brief, { since, batch: 1 });
    expect((await clock.until(reading.next())).done).toBe(false);
    await clock.advance(120_000);
    const removed = within(started, "readRange", () => trim(db));
    await expect(clock.until(reading.next())).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
    expect(removed.calls).toBeGreaterThan(0);
    await clock.until(db.close());
  },
);

/** Stays open for the other databases on it. */
class SharedStore extends PassingStore {
  override async close(): Promise<void> {}
}

test("a reader is told that the feed is gone, if it is removed while a large change is read", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  // As on a server, where a process knows the registry of up to a second ago.
  const store = memoryStore({ environment, remote: true });
  const options = { feeds: [brief], environment, collectEveryMs: 0 };
  const db = await clock.until(open(store, options));
  const other = await clock.until(open(new SharedStore(store), options));
  const since = await clock.until(now(db));
  for (const size of [1, large]) {
    await clock.until(db.transact((tx) => tx.set(files.content, "a", new Uint8Array(size).fill(7))));
  }
  const reading = db.changes(brief, { since, batch: 1 });
  expect((await clock.until(reading.next())).done).toBe(false);
  const removed = within({ store }, "readRange", () => other.removeFeed("brief"));
  await expect(clock.until(reading.next())).rejects.toMatchObject({ code: "SCHEMA" });
  expect(removed.calls).toBeGreaterThan(0);
  vi.restoreAllMocks();
  await clock.until(other.close());
  await clock.until(db.close());
});
