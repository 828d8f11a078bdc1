import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { StepHooks, stopsBefore } from "../../testing/index.js";
import { CoreTransaction } from "../core.js";
import { Transaction } from "../transaction.js";

const accounts = table("accounts", { balance: int() });

test("a commit that resolves a dead writer's lock ends by its signal, though the store does not answer", async () => {
  const hooks = new StepHooks();
  const bare = bareContext(memoryStore(), { commit: "two-phase" }, hooks);
  const context = { ...bare, liveness: { session: "test", alive: () => false } };
  hooks.once("commit-timestamp", stopsBefore);
  const dead = new Transaction(await CoreTransaction.begin(context));
  dead.set(accounts.balance, "alice", 1);
  void dead.commit();
  await new Promise((resolve) => setTimeout(resolve, 20));

  const ending = new AbortController();
  for (let attempt = 1; attempt <= 100; attempt++) {
    hooks.once("rollback-primary", async () => {
      if (attempt === 2) ending.abort();
      return "unknown";
    });
  }
  const tx = new Transaction(await CoreTransaction.begin(context, { signal: ending.signal }));
  tx.set(accounts.balance, "alice", 2);
  const before = hooks.count("rollback-primary");
  await expect(tx.commit()).rejects.toMatchObject({ code: "ABORTED" });
  expect(hooks.count("rollback-primary") - before).toBeLessThan(10);
}, 60_000);
