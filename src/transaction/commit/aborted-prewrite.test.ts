import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { StepHooks } from "../../testing/index.js";
import type { CellAddress } from "../cell/address.js";
import { CoreTransaction } from "../core.js";
import { Transaction } from "../transaction.js";

const accounts = table("accounts", { balance: int() });

test("a transaction that is aborted while a prewrite has no answer sends no further prewrite", async () => {
  const hooks = new StepHooks();
  const context = bareContext(memoryStore(), { commit: "two-phase" }, hooks);
  const ending = new AbortController();
  for (let repeat = 0; repeat < 5; repeat++) {
    // On Bigtable each of these answers takes `deadlineMs`, 10 s.
    hooks.once("prewrite", async () => {
      ending.abort();
      return "unknown";
    });
  }
  const tx = new Transaction(await CoreTransaction.begin(context, { signal: ending.signal }));
  tx.set(accounts.balance, "alice", 1);
  await expect(tx.commit()).rejects.toThrow();
  expect(hooks.count("prewrite")).toBe(1);
});

test("nor does it begin the prewrites of its other rows", async () => {
  const hooks = new StepHooks();
  const context = bareContext(memoryStore(), { commit: "two-phase" }, hooks);
  const ending = new AbortController();
  hooks.once("prewrite", (run) => {
    ending.abort();
    return run();
  });
  const tx = new Transaction(await CoreTransaction.begin(context, { signal: ending.signal }));
  for (let row = 0; row < 5_000; row++) tx.set(accounts.balance, `row ${row}`, 1);
  await expect(tx.commit()).rejects.toMatchObject({ code: "ABORTED" });
  expect(hooks.count("prewrite")).toBeLessThanOrEqual(256);
});

test("one that is aborted while a hint has no answer sends that hint no more", async () => {
  const hooks = new StepHooks();
  const bare = bareContext(memoryStore(), { commit: "two-phase" }, hooks);
  const address = { table: "~hints", row: Buffer.from("o"), column: Buffer.from("a") };
  const hints = (cell: CellAddress) => [{ observer: "o", address, cell }];
  const view = { ...(await bare.notifications.fresh()), observed: () => true, hints };
  const context = { ...bare, notifications: { ...bare.notifications, fresh: () => view } };
  const ending = new AbortController();
  hooks.once("hints", async () => {
    ending.abort();
    return "unknown";
  });
  const tx = new Transaction(await CoreTransaction.begin(context, { signal: ending.signal }));
  tx.set(accounts.balance, "alice", 1);
  await expect(tx.commit()).rejects.toMatchObject({ code: "ABORTED" });
  expect([hooks.count("hints"), hooks.count("commit-primary")]).toEqual([1, 0]);
});
