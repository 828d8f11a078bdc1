import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import type { AtomicStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { transact } from "../transact.js";
import { PassingStore } from "../wire/passing-store.js";

const accounts = table("accounts", { balance: int() });

test("a transaction during which the registry changes too often runs again", async () => {
  const inner = memoryStore();
  let changes = 0;
  class Changing extends PassingStore {
    override readonly atomic: AtomicStore = {
      counter: () => inner.atomic!.counter(),
      next: () => inner.atomic!.next(),
      commit: async (batch, options) => {
        if (++changes > 100) return inner.atomic!.commit(batch, options);
        return { answer: "rejected", row: batch.rows.length - 1, guard: 0 }; // the registry's guard
      },
    };
  }
  const context = bareContext(new Changing(inner));
  let runs = 0;
  await transact(context, (tx) => {
    runs++;
    tx.set(accounts.balance, "alice", 1);
  });
  expect(runs).toBe(2);
});
