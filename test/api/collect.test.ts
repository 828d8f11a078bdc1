import { AbortedError, open, table, text } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { expect, test } from "vitest";

const documents = table("documents", { contents: text() });

/** Returns a database whose first collection is paused until the test releases it. */
async function startCollecting() {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const store = memoryStore();
  const { readRaw } = store;
  const held = new Promise<void>((resolve) => {
    store.readRaw = async (read, options) => {
      resolve();
      await released;
      return readRaw.call(store, read, options);
    };
  });
  const db = await open(store, { tables: [documents], collectEveryMs: 0 });
  await db.transact(async (tx) => tx.set(documents.contents, "a", "text"));
  const first = db.collect({ retentionMs: 0 });
  await held;
  return { db, first, release };
}

test("a collection that is aborted before it begins does not move the safepoint", async () => {
  await using db = await open("memory:", { tables: [documents] });
  await db.transact(async (tx) => tx.set(documents.contents, "a", "text"));
  const collecting = db.collect({ retentionMs: 0, signal: AbortSignal.abort("enough") });
  await expect(collecting).rejects.toThrow(AbortedError);
  expect(await db.status()).toMatchObject({ safepoint: 0 });
});

test("a collection that waits for another one ends at once when it is aborted", async () => {
  const { db, first, release } = await startCollecting();
  const controller = new AbortController();
  const second = db.collect({ retentionMs: 0, signal: controller.signal });
  const third = db.collect({ retentionMs: 0 });
  controller.abort("enough");
  await expect(second).rejects.toMatchObject({ code: "ABORTED", cause: "enough" });
  release();
  expect((await third).safepoint).toBeGreaterThanOrEqual((await first).safepoint);
  await db.close();
});

test("a collection that waits for another one ends at once when the database is closed", async () => {
  const { db, first, release } = await startCollecting();
  const second = db.collect({ retentionMs: 0 });
  const closing = db.close();
  const isOver = "The database was closed during its garbage collection";
  await expect(second).rejects.toThrow(isOver);
  release();
  await expect(first).rejects.toThrow(isOver);
  await closing;
});
