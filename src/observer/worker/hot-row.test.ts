import { afterEach, expect, test } from "vitest";
import { countingOracle } from "../../../test/support/distant-store.js";
import { openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { ProcessStore } from "../../testing/kit/index.js";
import { type Observer, observer } from "../index.js";

const runs = 200;
const events = table("events", { amount: int() });
const counters = table("counters", { value: int() });
const copies = table("copies", { amount: int() });

const counting = observer("counting", events.amount, async (tx) => {
  tx.set(counters.value, "all", ((await tx.get(counters.value, "all")) ?? 0) + 1);
});

const copying = observer("copying", events.amount, (tx, { row, value }) => {
  tx.set(copies.amount, row, value ?? 0);
});

const open: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/**
 * The changes are committed before a worker begins. From then on each request to the store takes a
 * millisecond, so that runs overlap.
 */
async function openHot(observers: readonly Observer[]): Promise<[TestDatabase, TestEnvironment]> {
  const environment = new TestEnvironment();
  const store = new ProcessStore(memoryStore({ atomicBatches: false }), environment);
  const db = await openTest({
    store,
    environment,
    commit: "two-phase",
    oracle: countingOracle(),
    tables: [events, counters, copies],
    observers,
  });
  open.push(() => environment.until(db.close()));
  for (let event = 0; event < runs; event++) {
    await db.transact((tx) => tx.set(events.amount, `event ${event}`, 1));
  }
  store.delayMs = 1;
  return [db, environment];
}

test.each([undefined, 64])(
  "runs that all write one row, which they do not watch, take turns on it: concurrency %s",
  async (concurrency) => {
    const [db, environment] = await openHot([counting]);
    const worker = db.pool.work({ concurrency });
    await environment.until(worker.idle());
    const counted = db.transact((tx) => tx.get(counters.value, "all"));
    expect(await environment.until(counted)).toBe(runs);
    const conflicts = db.runs.filter(({ outcome }) => outcome === "conflict").length;
    expect(conflicts / runs).toBeLessThan(3);
    expect(db.context.turns.size).toBe(0);
    await environment.until(worker.stop());
  },
);

test("only the observer whose runs conflict gets fewer concurrent runs", async () => {
  const [db, environment] = await openHot([counting, copying]);
  const worker = db.pool.work();
  expect([worker.maxRunsOf("counting"), worker.maxRunsOf("copying")]).toEqual([64, 64]);
  await environment.until(worker.idle());
  expect(worker.maxRunsOf("counting")).toBeLessThan(64);
  expect(worker.maxRunsOf("copying")).toBe(64);
  await environment.until(worker.stop());
});
