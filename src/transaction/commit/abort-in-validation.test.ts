import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import type { RangeRead, StoreRequestOptions } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { StepHooks } from "../../testing/index.js";
import { CoreTransaction } from "../core.js";
import { transact } from "../transact.js";
import { Transaction } from "../transaction.js";
import { PassingStore } from "../wire/passing-store.js";

const accounts = table("accounts", { balance: int() });

test.each(["before", "after"])(
  "a serializable transaction that is aborted %s its reads are validated does not commit",
  async (when) => {
    const hooks = new StepHooks();
    const context = bareContext(memoryStore(), { commit: "two-phase" }, hooks);
    const ending = new AbortController();
    hooks.once("validate", async (run) => {
      if (when === "before") ending.abort();
      const answer = await run();
      ending.abort();
      return answer;
    });
    const tx = new Transaction(
      await CoreTransaction.begin(context, { signal: ending.signal, isolation: "serializable" }),
    );
    await tx.get(accounts.balance, "bob");
    tx.set(accounts.balance, "alice", 1);
    await expect(tx.commit()).rejects.toMatchObject({ code: "ABORTED" });
    expect(hooks.count("commit-primary")).toBe(0);
  },
);

test("validation of many reads stops when the transaction is aborted", async () => {
  const store = memoryStore();
  const ending = new AbortController();
  let isValidating = false;
  let reads = 0;
  const counting = new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (name === "zeroCopy") return undefined;
      if (name !== "readRow") return typeof value === "function" ? value.bind(target) : value;
      return (read: Parameters<typeof store.readRow>[0]) => {
        if (isValidating && read.table === "accounts" && ++reads === 256) ending.abort();
        return target.readRow(read);
      };
    },
  });
  const hooks = new StepHooks();
  hooks.once("validate", (run) => {
    isValidating = true;
    return run();
  });
  const tx = new Transaction(
    await CoreTransaction.begin(
      { ...bareContext(counting, { commit: "two-phase" }, hooks) },
      { signal: ending.signal, isolation: "serializable" },
    ),
  );
  for (let row = 0; row < 5_000; row++) await tx.get(accounts.balance, `row ${row}`);
  tx.set(accounts.balance, "alice", 1);
  await expect(tx.commit()).rejects.toMatchObject({ code: "ABORTED" });
  expect(reads).toBeLessThan(1_000);
});

test("validation of a long range stops when the transaction is aborted", async () => {
  const inner = memoryStore();
  const ending = new AbortController();
  let pages = 0;
  class Narrow extends PassingStore {
    override readRange(read: RangeRead, options?: StoreRequestOptions) {
      if (isValidating && ++pages === 2) ending.abort();
      return super.readRange({ ...read, limit: 1 }, options);
    }
  }
  let isValidating = false;
  const hooks = new StepHooks();
  hooks.once("validate", (run) => {
    isValidating = true;
    return run();
  });
  const context = bareContext(new Narrow(inner), { commit: "two-phase" }, hooks);
  await transact(bareContext(inner), (tx) => {
    for (let row = 0; row < 10; row++) tx.set(accounts.balance, `row ${row}`, row);
  });
  const tx = new Transaction(
    await CoreTransaction.begin(context, { signal: ending.signal, isolation: "serializable" }),
  );
  for await (const _ of tx.scan(accounts.balance));
  tx.set(accounts.balance, "z", 1);
  await expect(tx.commit()).rejects.toMatchObject({ code: "ABORTED" });
  expect(pages).toBe(2);
});
