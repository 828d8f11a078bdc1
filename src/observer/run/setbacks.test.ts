import { afterEach, expect, test } from "vitest";
import { openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import {
  ConflictError,
  CoordinatorError,
  OracleUnavailableError,
  StoreBusyError,
  StoreChangedError,
  StoreError,
  StoreFullError,
  StoreMovedError,
} from "../../errors/index.js";
import type { Transaction } from "../../transaction/index.js";
import { type ColumnChange, type Observer, observer } from "../index.js";

const open: TestDatabase[] = [];

afterEach(async () => {
  for (const db of open.splice(0)) await db.close();
});

/**
 * Returns an observer that fails with each of these errors in turn and then succeeds. `begun` gets
 * the start time of each run.
 */
function failing(failures: readonly Error[], environment: TestEnvironment) {
  const begun: number[] = [];
  const run = (tx: Transaction, { row, value }: ColumnChange<string, string>) => {
    const failure = failures[begun.length];
    begun.push(environment.monotonic());
    if (failure !== undefined) throw failure;
    tx.set(documents.length, row, value!.length);
  };
  const length = observer("length", documents.contents, run, { attempts: 1 });
  return { begun, length };
}

/**
 * Lets the observer run until it succeeds. Returns the time between each pair of consecutive runs.
 */
async function waitsOf(length: Observer, begun: readonly number[], environment: TestEnvironment) {
  const db = await openTest({ environment, observers: [length] });
  open.push(db);
  await db.transact((tx) => tx.set(documents.contents, "a", "abc"));
  let isDrained = false;
  const drained = db.pool.drain().finally(() => {
    isDrained = true;
  });
  while (!isDrained) await environment.advance(1_000);
  await drained;
  expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(3);
  return { waits: begun.slice(1).map((at, index) => at - begun[index]!), runs: db.runs };
}

const conflict = new ConflictError("Another was faster.");
const setback = new StoreError("The store does not answer.");

test("a store that fails once is tried again soon, even after many conflicts", async () => {
  const environment = new TestEnvironment();
  const { begun, length } = failing([...Array(12).fill(conflict), setback], environment);
  const { waits } = await waitsOf(length, begun, environment);
  expect(waits).toHaveLength(13);
  expect(waits.at(-1)).toBeLessThanOrEqual(100);
});

test("a conflict after a long outage of the store is retried as quickly as any other", async () => {
  const environment = new TestEnvironment();
  const { begun, length } = failing([...Array(12).fill(setback), conflict], environment);
  const { waits } = await waitsOf(length, begun, environment);
  expect(waits).toHaveLength(13);
  expect(waits.at(-1)).toBeLessThanOrEqual(1);
});

test("after a long outage of the store, work continues within seconds", async () => {
  const environment = new TestEnvironment();
  const { begun, length } = failing(Array(12).fill(setback), environment);
  const { waits, runs } = await waitsOf(length, begun, environment);
  expect(Math.max(...waits)).toBeLessThanOrEqual(5_000);
  expect(waits.at(-1)).toBeGreaterThan(1_000);
  // None of the failures is the observer's fault.
  expect(runs.at(-1)).toMatchObject({ outcome: "committed", attempts: 0 });
});

test.each([
  new CoordinatorError("The token is wrong.", { reason: "token" }),
  new OracleUnavailableError("Nobody leads."),
  new StoreFullError("No space is left."),
  new StoreBusyError("Another process is stopped in the middle of a commit."),
  new StoreMovedError("data.mdb was renamed."),
  new StoreChangedError("Another process wrote to the folder."),
])(
  "no change is parked because a store or coordinator is unavailable or refuses this process: $code",
  async (failure) => {
    const environment = new TestEnvironment();
    const { begun, length } = failing(Array(110).fill(failure), environment);
    const { runs } = await waitsOf(length, begun, environment);
    expect(runs.at(-1)).toMatchObject({ outcome: "committed", attempts: 0 });
  },
);
