import { type Database, open } from "percolatordb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { documents, observersOf, rowOf } from "./documents.js";
import { Load } from "./load.js";

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }));

afterEach(() => vi.useRealTimers());

test("a row is not updated again before its previous update has committed", async () => {
  const commits: (() => void)[] = [];
  const held: Pick<Database, "transact" | "snapshot"> = {
    transact: <T>() => new Promise<T>((resolve) => commits.push(() => resolve(undefined as T))),
    snapshot: () => Promise.reject(new Error("not here")),
  };
  const load = new Load(held, { rows: 3, bytes: 20, rate: 1_000 });
  load.start();
  await vi.advanceTimersByTimeAsync(100);
  expect(commits).toHaveLength(3);
  // The next row's update is still running.
  commits[1]!();
  await vi.advanceTimersByTimeAsync(100);
  expect(commits).toHaveLength(3);
  commits[0]!();
  await vi.advanceTimersByTimeAsync(100);
  expect(commits).toHaveLength(5);
  const stopping = load.stop();
  // Updates that are due when the load is stopped still begin.
  await vi.advanceTimersByTimeAsync(100);
  for (const commit of commits) commit();
  await stopping;
  expect(load.updates).toBe(commits.length);
});

test("at the end each row has its last update, and a row without it is found", async () => {
  vi.useRealTimers();
  await using db = await open("memory:", { tables: [documents], observers: observersOf() });
  const load = new Load(db, { rows: 3, bytes: 20, rate: 100_000 });
  load.start();
  while (load.updates < 30) await new Promise((resolve) => setImmediate(resolve));
  await load.stop();
  await db.drain();
  expect(await load.wrong()).toEqual([]);
  await db.transact((tx) => tx.set(documents.contents, rowOf(1), "other"));
  await db.drain();
  expect(await load.wrong()).toEqual([rowOf(1)]);
});

test("a load without a rate begins as many updates as allowed, and fails if one of them does", async () => {
  vi.useRealTimers();
  let begun = 0;
  const failing: Pick<Database, "transact" | "snapshot"> = {
    transact: () =>
      ++begun < 3 ? Promise.resolve(undefined as never) : Promise.reject(new Error("no disk")),
    snapshot: () => Promise.reject(new Error("not here")),
  };
  const shape = { rows: Number.POSITIVE_INFINITY, bytes: 20 };
  const load = new Load(failing, { ...shape, mayBegin: (count) => count < 3 });
  load.start();
  while (begun < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  await expect(load.stop()).rejects.toThrow("no disk");
  expect([begun, load.updates]).toEqual([3, 2]);
});
