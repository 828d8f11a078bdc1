import { expect, test } from "vitest";
import { type Database, open } from "../../database/index.js";
import { counterOracle } from "../../oracle/index.js";
import { int, table } from "../../schema/index.js";
import type { RowMutation, RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { openWithHooks, StepHooks, TestClock } from "../../testing/index.js";

const accounts = table("accounts", { balance: int() });
const retentionMs = 600_000;
/** A twentieth of the retention. */
const graceMs = 30_000;
const second = 1_000;

/** A database on a store of one-row mutations, and the requests to roll secondaries forward. */
async function start(bulkMutations: boolean) {
  const clock = new TestClock();
  const environment = clock.process();
  const store = memoryStore({ environment, atomicBatches: false, bulkMutations });
  const secondaries = watchSecondaries(store);
  const oracle = counterOracle(memoryStore({ environment }).atomic!);
  const hooks = new StepHooks();
  const options = { tables: [accounts], oracle, retentionMs, collectEveryMs: 0 };
  const db = await clock.until(openWithHooks(store, { ...options, environment, hooks }));
  const other = await clock.until(open(store, { ...options, environment: clock.process() }));
  return {
    clock,
    environment,
    store,
    hooks,
    secondaries,
    db,
    other,
    [Symbol.asyncDispose]: async () => {
      await clock.until(other.close());
      await clock.until(db.close());
    },
  };
}

/** Mutations of `bob`'s row that put a write record. */
function watchSecondaries(store: RowStore): RowMutation[] {
  const seen: RowMutation[] = [];
  const mutate = store.mutate.bind(store);
  store.mutate = (mutation, options) => {
    const isCommit = mutation.mutations.some((one) => one.type === "put" && one.part === "write");
    if (mutation.table === "accounts" && isCommit && Buffer.from(mutation.row).includes("bob"))
      seen.push(mutation);
    return mutate(mutation, options);
  };
  return seen;
}

/** Alice's cell is the primary, bob's the secondary. */
const transfer = (db: Database) =>
  db.transact(async (tx) => {
    tx.set(accounts.balance, "alice", 1);
    tx.set(accounts.balance, "bob", 2);
  });

const bobOf = async (db: Database) => {
  await using snapshot = await db.snapshot();
  return await snapshot.get(accounts.balance, "bob");
};

test.each([
  [true, 0],
  [false, 1],
])("secondaries on a store with bulk mutations (%s) have %i guards", async (bulkMutations, guards) => {
  await using one = await start(bulkMutations);
  await one.clock.until(transfer(one.db));
  await one.clock.until(one.db.idle());
  expect(one.secondaries.map((mutation) => mutation.guards.length)).toEqual([guards]);
  expect(await one.clock.until(bobOf(one.other))).toBe(2);
  expect(await one.clock.until(one.db.check())).toEqual([]);
});

test("a secondary that is sent late has its guard, and does not restore a value that was deleted and collected", async () => {
  await using one = await start(true);
  const { clock, hooks, db, other, secondaries } = one;
  const pause = hooks.pauseBefore("commit-secondary");
  await clock.until(transfer(db));
  await pause.reached;
  await clock.until(other.transact(async (tx) => tx.delete(accounts.balance, "bob")));
  await clock.advance(retentionMs + graceMs + second);
  await clock.until(other.collect());
  expect(await clock.until(other.inspect(accounts, "bob"))).toEqual([]);
  const before = secondaries.length;
  pause.resume();
  await clock.until(db.idle());
  expect(secondaries.slice(before).map((mutation) => mutation.guards.length)).toEqual([1]);
  expect(await clock.until(bobOf(other))).toBeUndefined();
  expect(await clock.until(other.inspect(accounts, "bob"))).toEqual([]);
});

test("so has one that is sent after the machine slept, though its monotonic clock stood still", async () => {
  await using one = await start(true);
  const { clock, environment, hooks, db, secondaries } = one;
  const pause = hooks.pauseBefore("commit-secondary");
  await clock.until(transfer(db));
  await pause.reached;
  const wakesAt = environment.now() + graceMs;
  environment.now = () => wakesAt;
  pause.resume();
  await clock.until(db.idle());
  expect(secondaries.map((mutation) => mutation.guards.length)).toEqual([1]);
});

test("one that was sent in time may arrive as late as the retention: newer versions are still there", async () => {
  await using one = await start(true);
  const { clock, store, db, other, secondaries } = one;
  await clock.until(transfer(db));
  await clock.until(db.idle());
  const [late] = secondaries;
  await clock.until(other.transact(async (tx) => tx.delete(accounts.balance, "bob")));
  await clock.advance(retentionMs + graceMs / 2);
  await clock.until(other.collect());
  await store.mutate(late!);
  expect(await clock.until(bobOf(other))).toBeUndefined();
  expect(await clock.until(other.check())).toEqual([]);
  // After the grace period, no version is left.
  await clock.advance(graceMs + second);
  await clock.until(other.collect());
  expect(await clock.until(other.inspect(accounts, "bob"))).toEqual([]);
});

test("garbage collection waits for secondaries that its own process still rolls forward, whatever the retention", async () => {
  await using one = await start(true);
  const { clock, hooks, db } = one;
  const pause = hooks.pauseBefore("commit-secondary");
  await clock.until(transfer(db));
  await pause.reached;
  await clock.until(db.transact(async (tx) => tx.delete(accounts.balance, "bob")));
  let isCollected = false;
  const collecting = db.collect({ retentionMs: 0 }).then(() => {
    isCollected = true;
  });
  await clock.advance(60 * second);
  expect(isCollected).toBe(false);
  pause.resume();
  await clock.until(collecting);
  expect(await clock.until(bobOf(db))).toBeUndefined();
});
