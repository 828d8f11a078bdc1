import { describe, expect, it, test } from "vitest";
import { temporaryFolder } from "../../../test/support/databases.js";
import { open } from "../../database/index.js";
import { AbortedError } from "../../errors/index.js";
import { int, table } from "../../schema/index.js";
import { allColumns } from "../../store/index.js";
import { openLmdbStore } from "../../store/lmdb/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { storeConformance } from "../store-conformance.js";
import { ProcessStore, TestClock } from "./index.js";

const counters = table("counters", { value: int() });

storeConformance("a process's store", () => new ProcessStore(memoryStore(), new TestClock().process()), {
  describe,
  it,
  atomicBatches: true,
  seeds: [1],
});

storeConformance(
  "a process's slow store",
  () =>
    new ProcessStore(
      memoryStore({ atomicBatches: false }),
      new TestClock({ passesByItself: true }).process(),
      { delayMs: 10 },
    ),
  { describe, it, atomicBatches: false, seeds: [1], steps: 50 },
);

test("two reads of a slow store over a folder return their own values", async () => {
  const clock = new TestClock({ passesByItself: true });
  const process = clock.process();
  const folder = await temporaryFolder();
  await using _removed = { [Symbol.asyncDispose]: folder.remove };
  const slow = new ProcessStore(await openLmdbStore(folder.path), process);
  await using db = await open(slow, { environment: process, tables: [counters] });
  await db.transact((tx) => {
    tx.set(counters.value, "a", 1);
    tx.set(counters.value, "b", 2);
  });
  slow.delayMs = 10;
  const both = db.transact((tx) => Promise.all([tx.get(counters.value, "a"), tx.get(counters.value, "b")]));
  expect(await clock.until(both)).toEqual([1, 2]);
  slow.delayMs = 0;
});

test("each request of a slow store takes its time", async () => {
  const clock = new TestClock();
  const process = clock.process();
  const store = new ProcessStore(memoryStore({ environment: process }), process);
  await using db = await open(store, { environment: process });
  await db.transact((tx) => tx.set(counters.value, "a", 1));
  expect(clock.passedMs).toBe(0);
  store.delayMs = 1_000;
  const reading = db.transact((tx) => tx.get(counters.value, "a"));
  await clock.advance(500);
  store.delayMs = 0;
  expect(await clock.until(reading)).toBe(1);
  expect(clock.passedMs).toBeGreaterThanOrEqual(500);
});

test("an aborted request in transit rejects for the caller, and an aborted mutation is unknown", async () => {
  const clock = new TestClock();
  const process = clock.process();
  const store = new ProcessStore(memoryStore(), process, { delayMs: 100 });
  const controller = new AbortController();
  const { signal } = controller;
  const mutation = { table: "t", row: Buffer.from("r"), guards: [], mutations: [] };
  const answered = store.mutate(mutation, { signal });
  await clock.advance(50);
  const reading = store.readRow(
    { table: "t", row: Buffer.from("r"), columns: allColumns, at: 1 },
    { signal },
  );
  controller.abort();
  expect(await answered).toBe("unknown");
  await expect(reading).rejects.toThrow(AbortedError);
  expect(clock.passedMs).toBe(50);
});

test("a dead process sends and receives nothing; a suspended one does so later", async () => {
  const clock = new TestClock();
  const store = memoryStore();
  const [dying, pausing, other] = [clock.process(), clock.process(), clock.process()];
  const dbOf = (process: typeof other) =>
    open(new ProcessStore(store, process), { environment: process, tables: [counters] });
  const [dyingDb, pausingDb, db] = [await dbOf(dying), await dbOf(pausing), await dbOf(other)];
  let heard = 0;
  dying.die();
  pausing.suspend();
  for (const [index, each] of [dyingDb, pausingDb].entries())
    void each.transact((tx) => tx.set(counters.value, `${index}`, 1)).then(() => heard++);
  await clock.advance(10_000);
  const values = () => clock.until(db.transact((tx) => tx.getMany(counters.value, ["0", "1"])));
  expect(await values()).toEqual([undefined, undefined]);
  pausing.resume();
  await clock.settle();
  expect(await values()).toEqual([undefined, 1]);
  expect(heard).toBe(1);
});
