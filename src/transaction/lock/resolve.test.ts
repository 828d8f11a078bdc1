import { expect, test } from "vitest";
import { DistantTestStore, distantContext } from "../../../test/support/distant-store.js";
import { int, table } from "../../schema/index.js";
import { StepHooks, stopsAfter } from "../../testing/index.js";
import { CoreTransaction } from "../core.js";
import { Transaction } from "../transaction.js";

const accounts = table("accounts", { balance: int() });

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
