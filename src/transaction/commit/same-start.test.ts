import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { StepHooks } from "../../testing/index.js";
import { CoreTransaction } from "../core.js";
import { Transaction } from "../transaction.js";

const accounts = table("accounts", { balance: int() });

test("a one-phase commit resolves a dead two-phase transaction's lock, though both have one start timestamp", async () => {
  const store = memoryStore();
  const hooks = new StepHooks();
  const dead = { session: "dead", alive: () => false };
  const twoPhase = { ...bareContext(store, { commit: "two-phase" }, hooks), liveness: dead };
  const onePhaseHooks = new StepHooks();
  const onePhase = { ...bareContext(store, {}, onePhaseHooks), liveness: dead };
  const { reached } = hooks.pauseBefore("commit-timestamp");
  const dying = new Transaction(await CoreTransaction.begin(twoPhase)); // S = the counter, which it has raised
  const tx = new Transaction(await CoreTransaction.begin(onePhase)); // S = the counter
  expect(tx.startTimestamp).toBe(dying.startTimestamp);
  dying.set(accounts.balance, "row 0", 1);
  void dying.commit();
  await reached;
  for (let row = 0; row < 50; row++) tx.set(accounts.balance, `row ${row}`, 2);
  await tx.commit();
  expect(onePhaseHooks.count("one-phase-commit")).toBe(2);
});
