import { type Database, open } from "percolatordb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Load, observers, tables } from "./load.js";

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }));

afterEach(() => vi.useRealTimers());

test("no row is updated anew before its last update has committed", async () => {
  const commits: (() => void)[] = [];
  const held: Pick<Database, "transact" | "snapshot"> = {
    transact: <T>() => new Promise<T>((resolve) => commits.push(() => resolve(undefined as T))),
    snapshot: () => Promise.reject(new Error("not here")),
  };
  const load = new Load(held, { rows: 3, bytes: 20, rate: 1_000 });
  load.start();
  await vi.advanceTimersByTimeAsync(100);
  expect(commits).toHaveLength(3);
  // The next row's is still under way.
  commits[1]!();
  await vi.advanceTimersByTimeAsync(100);
  expect(commits).toHaveLength(3);
  commits[0]!();
  await vi.advanceTimersByTimeAsync(100);
  expect(commits).toHaveLength(5);
  const stopping = load.stop();
  // What is due when it is stopped begins yet.
  await vi.advanceTimersByTimeAsync(100);
  for (const commit of commits) commit();
  await stopping;
  expect(load.updates).toBe(commits.length);
});

test("in the end each row has its last update, and a row that has not is found", async () => {
  vi.useRealTimers();
  await using db = await open("memory:", { tables, observers });
  const load = new Load(db, { rows: 3, bytes: 20, rate: 100_000 });
  load.start();
  while (load.updates < 30) await new Promise((resolve) => setImmediate(resolve));
  await load.stop();
  await db.drain();
  expect(await load.wrong()).toBe(0);
  const [documents] = tables;
  await db.transact((tx) => tx.set(documents!.contents, "row-00000001", "other"));
  await db.drain();
  expect(await load.wrong()).toBe(1);
});
