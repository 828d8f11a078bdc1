import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { StepHooks } from "../../testing/index.js";
import { CoreTransaction } from "../core.js";
import { Transaction } from "../transaction.js";

const accounts = table("accounts", { balance: int() });

test("a reader without pushes waits for a live lock as long as it stands", async () => {
  const hooks = new StepHooks();
  const context = bareContext(memoryStore(), { commit: "two-phase" }, hooks);
  const pause = hooks.pauseBefore("commit-primary");
  const writer = new Transaction(await CoreTransaction.begin(context));
  writer.set(accounts.balance, "alice", 1);
  const committing = writer.commit();
  await pause.reached;
  let waits = 0;
  // As `LockResolver` does for a reader that has used its 16 pushes, but without the time of the waits.
  const resolver = {
    resolve: context.resolver.resolve.bind(context.resolver),
    resolveForRead: async () => {
      if (++waits < 1_500) return "standing" as const;
      pause.resume();
      await committing;
      await context.background.settled();
      return "gone" as const;
    },
  };
  const reader = new Transaction(await CoreTransaction.begin({ ...context, resolver }));
  expect(await reader.get(accounts.balance, "alice")).toBe(1);
});
