import { expect, test } from "vitest";
import { DistantTestStore, distantContext } from "../../../test/support/distant-store.js";
import { columnPath, int, table } from "../../schema/index.js";
import { StepHooks, stopsAfter } from "../../testing/index.js";
import { metLock, newResolution } from "../cell/met-lock.js";
import { readCells } from "../cell/raw.js";
import { CoreTransaction } from "../core.js";
import { Transaction } from "../transaction.js";

const accounts = table("accounts", { balance: int(), limit: int() });

test("the status of a transaction is read once, however many of its locks are met", async () => {
  const store = new DistantTestStore();
  const hooks = new StepHooks();
  const context = distantContext(store, hooks);
  const begin = async () => new Transaction(await CoreTransaction.begin(context));
  hooks.once("commit-primary", stopsAfter);
  const stopped = await begin();
  for (const row of ["a", "b", "c", "d"]) stopped.set(accounts.balance, row, 1);
  void stopped.commit();
  // The fifth mutation is the commit.
  while (store.applied < 5) await new Promise((resolve) => setImmediate(resolve));

  const asked: string[] = [];
  const readRaw = store.readRaw.bind(store);
  store.readRaw = (read) => {
    asked.push(`${read.start?.row}`);
    return readRaw(read);
  };
  const reader = await begin();
  for (const row of ["b", "c", "d"]) expect(await reader.get(accounts.balance, row)).toBe(1);
  expect(asked).toEqual(["a"]);
});

test.each([
  { alive: false, gone: true },
  { alive: undefined, gone: false },
])(
  "if its owner is alive: $alive, a lock is removed before its time is over: $gone",
  async ({ alive, gone }) => {
    const hooks = new StepHooks();
    const shared = distantContext(new DistantTestStore(), hooks);
    const context = { ...shared, liveness: { ...shared.liveness, alive: () => alive } };
    const begin = async () => new Transaction(await CoreTransaction.begin(context));
    const pause = hooks.pauseBefore("commit-primary");
    const paused = await begin();
    paused.set(accounts.balance, "a", 1);
    const committing = paused.commit().catch((error: unknown) => error);
    await pause.reached;

    const writer = await begin();
    writer.set(accounts.balance, "a", 2);
    const written = writer.commit();
    await (gone ? written : expect(written).rejects.toMatchObject({ code: "CONFLICT" }));
    pause.resume();
    expect((await committing) === undefined).toBe(!gone);
  },
);

test("a reader that has used up its pushes waits for the owners of further locks", async () => {
  const hooks = new StepHooks();
  const context = distantContext(new DistantTestStore(), hooks);
  const writing: Promise<unknown>[] = [];
  const pauses = ["a", "b"].map(() => hooks.pauseBefore("commit-primary"));
  for (const [index, row] of ["a", "b"].entries()) {
    const writer = new Transaction(await CoreTransaction.begin(context));
    writer.set(accounts.balance, row, 1);
    writing.push(writer.commit());
    await pauses[index]!.reached;
  }
  const reader = await CoreTransaction.begin(context);
  const resolution = { ...newResolution(reader.startTimestamp, undefined), pushesLeft: 1 };
  const resolve = async (row: string) => {
    const cell = { table: "accounts", row: Buffer.from(row), column: columnPath("balance") };
    const [lock] = await readCells(context.store, cell, ["lock"], 0, Number.POSITIVE_INFINITY);
    return await context.resolver.resolve(context, metLock(cell, lock!), resolution);
  };
  expect([await resolve("a"), resolution.pushesLeft]).toEqual(["passed", 0]);
  expect(await resolve("b")).toBe("standing");
  // The primary already says that it commits above the reader.
  expect(await resolve("a")).toBe("passed");
  for (const pause of pauses) pause.resume();
  await Promise.all(writing);
  await reader.rollback();
});

test.each([
  { aheadMs: 600_000, outcome: "standing" },
  { aheadMs: 600_001, outcome: "gone" },
])("a lock whose refresh is $aheadMs ms ahead of this clock is $outcome", async ({ aheadMs, outcome }) => {
  const hooks = new StepHooks();
  const shared = distantContext(new DistantTestStore(), hooks);
  const context = { ...shared, liveness: { ...shared.liveness, alive: () => undefined } };
  const pause = hooks.pauseBefore("commit-primary");
  const writer = new Transaction(await CoreTransaction.begin(context));
  writer.set(accounts.balance, "a", 1);
  const writing = writer.commit().catch(() => undefined);
  await pause.reached;
  const cell = { table: "accounts", row: Buffer.from("a"), column: columnPath("balance") };
  const [lock] = await readCells(context.store, cell, ["lock"], 0, Number.POSITIVE_INFINITY);
  const met = metLock(cell, lock!);
  const now = met.lock.refreshedAt - aheadMs;
  const behind = { ...context, environment: { ...context.environment, now: () => now } };
  const resolution = { ...newResolution(met.start + 1, undefined), role: "writer" } as const;
  expect(await context.resolver.resolve(behind, met, resolution)).toBe(outcome);
  pause.resume();
  await writing;
});

test("the rollback of a lock frees all columns that it covers", async () => {
  const hooks = new StepHooks();
  const shared = distantContext(new DistantTestStore(), hooks);
  const context = { ...shared, liveness: { ...shared.liveness, alive: () => false } };
  const begin = async () => new Transaction(await CoreTransaction.begin(context));
  const { reached } = hooks.pauseBefore("commit-timestamp");
  const dead = await begin();
  dead.set(accounts.balance, "a", 1);
  for (const column of [accounts.balance, accounts.limit]) dead.set(column, "b", 1);
  void dead.commit();
  await reached;
  const locks = async (column: string) => {
    const cell = { table: "accounts", row: Buffer.from("b"), column: columnPath(column) };
    return (await readCells(context.store, cell, ["lock"], 0, Number.POSITIVE_INFINITY)).length;
  };
  const all = async () => [await locks("balance"), await locks("limit")];
  expect(await all()).toEqual([1, 1]);
  expect(await (await begin()).get(accounts.balance, "b")).toBeUndefined();
  expect(await all()).toEqual([0, 0]);
});
