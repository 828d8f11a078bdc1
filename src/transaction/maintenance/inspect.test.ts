import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { StepHooks } from "../../testing/index.js";
import { CoreTransaction } from "../core.js";
import { Transaction } from "../transaction.js";
import { listLocks } from "./inspect.js";

const accounts = table("accounts", { balance: int() });

test("only one of a transaction's locks is primary, though a message shows two of its cells alike", async () => {
  const hooks = new StepHooks();
  const context = bareContext(memoryStore(), { commit: "two-phase" }, hooks);
  const { reached } = hooks.pauseBefore("commit-timestamp");
  const tx = new Transaction(await CoreTransaction.begin(context));
  for (const row of ["\u0001", "0x01"]) tx.set(accounts.balance, row, 1);
  void tx.commit();
  await reached;
  const primaries: boolean[] = [];
  for await (const { isPrimary } of listLocks(context, ["accounts"])) primaries.push(isPrimary);
  expect(primaries).toEqual([true, false]);
});
