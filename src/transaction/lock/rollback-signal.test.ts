import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { StepHooks } from "../../testing/index.js";
import { ActiveTransactions } from "../active.js";
import type { TransactionContext } from "../context.js";
import { CoreTransaction } from "../core.js";
import { collect } from "../maintenance/collect.js";
import { Transaction } from "../transaction.js";

const accounts = table("accounts", { balance: int() });

const calls: [what: string, call: (context: TransactionContext, signal: AbortSignal) => Promise<unknown>][] =
  [
    [
      "commit",
      async (context, signal) => {
        const tx = new Transaction(await CoreTransaction.begin(context, { signal }));
        tx.set(accounts.balance, "alice", 2);
        return tx.commit();
      },
    ],
    [
      "read",
      async (context, signal) => {
        const tx = new Transaction(await CoreTransaction.begin(context, { signal }));
        return tx.get(accounts.balance, "alice");
      },
    ],
    [
      "collection",
      async (context, signal) => {
        await context.oracle.next();
        return collect(context, ["accounts"], Number.POSITIVE_INFINITY, { signal, retentionMs: 0 });
      },
    ],
  ];

test.each(calls)(
  "a %s that meets a dead writer's lock ends by its signal, though the store does not answer",
  async (_, call) => {
    const hooks = new StepHooks();
    const bare = bareContext(memoryStore(), { commit: "two-phase" }, hooks);
    const context = { ...bare, liveness: { session: "test", alive: () => false } };
    const { reached } = hooks.pauseBefore("commit-timestamp");
    const dead = new Transaction(await CoreTransaction.begin(context));
    dead.set(accounts.balance, "alice", 1);
    void dead.commit();
    await reached;

    const ending = new AbortController();
    for (let attempt = 1; attempt <= 10; attempt++) {
      hooks.once("rollback-primary", async () => {
        if (attempt === 2) ending.abort();
        return "unknown";
      });
    }
    const other = { ...context, active: new ActiveTransactions(context.environment) };
    await expect(call(other, ending.signal)).rejects.toMatchObject({ code: "ABORTED" });
    expect(hooks.count("rollback-primary")).toBe(2);
  },
);
