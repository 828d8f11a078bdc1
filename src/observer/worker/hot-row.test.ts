import { afterEach, expect, test } from "vitest";
import { countingOracle, DistantTestStore } from "../../../test/support/distant-store.js";
import { openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { int, table } from "../../schema/index.js";
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

const open: TestDatabase[] = [];

afterEach(async () => {
  for (const db of open.splice(0)) await db.close();
});

/**
 * Each request to the store takes a turn of the event loop and a millisecond, so that runs overlap.
 * The changes are committed before a worker begins.
 */
async function openHot(observers: readonly Observer[]): Promise<[TestDatabase, TestEnvironment]> {
  const environment = new TestEnvironment();
  const db = await openTest({
    store: new DistantTestStore(),
    environment,
    commit: "two-phase",
    oracle: countingOracle(),
    tables: [events, counters, copies],
    observers,
  });
  open.push(db);
  for (let event = 0; event < runs; event++) {
    await environment.flow(db.transact((tx) => tx.set(events.amount, `event ${event}`, 1)));
  }
  return [db, environment];
}

test.each([undefined, 64])(
  "runs that all write one row, which they do not watch, take turns on it: concurrency %s",
  async (concurrency) => {
    const [db, environment] = await openHot([counting]);
    const worker = db.pool.work({ concurrency });
    await environment.flow(worker.idle());
    const counted = db.transact((tx) => tx.get(counters.value, "all"));
    expect(await environment.flow(counted)).toBe(runs);
    const conflicts = db.runs.filter(({ outcome }) => outcome === "conflict").length;
    expect(conflicts / runs).toBeLessThan(3);
    expect(db.context.turns.size).toBe(0);
    await environment.flow(worker.stop());
  },
);

test("only the observer whose runs conflict gets fewer concurrent runs", async () => {
  const [db, environment] = await openHot([counting, copying]);
  const worker = db.pool.work();
  expect([worker.maxRunsOf("counting"), worker.maxRunsOf("copying")]).toEqual([64, 64]);
  await environment.flow(worker.idle());
  expect(worker.maxRunsOf("counting")).toBeLessThan(64);
  expect(worker.maxRunsOf("copying")).toBe(64);
  await environment.flow(worker.stop());
});
