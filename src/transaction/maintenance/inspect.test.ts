import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import type { RawRead } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { StepHooks } from "../../testing/index.js";
import { CoreTransaction } from "../core.js";
import { Transaction } from "../transaction.js";
import { PassingStore } from "../wire/passing-store.js";
import { listLocks, resolveLock } from "./inspect.js";

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

/** A page ends before the column, as on PostgreSQL if the columns before it have very many versions. */
class EndsEarly extends PassingStore {
  override readRaw(read: RawRead) {
    const { start } = read;
    if (start === undefined || start.column !== undefined) return super.readRaw(read);
    return { rows: [], next: { row: start.row, column: Buffer.from("balance") } };
  }
}

test("a lock behind very many versions of its row is found, and stands while its owner lives", async () => {
  const hooks = new StepHooks();
  const settings = { commit: "two-phase", lockTtlMs: 3_600_000 } as const;
  const context = bareContext(new EndsEarly(memoryStore()), settings, hooks);
  const { reached } = hooks.pauseBefore("commit-timestamp");
  const tx = new Transaction(await CoreTransaction.begin(context));
  tx.set(accounts.balance, "alice", 1);
  void tx.commit();
  await reached;
  const outcomes: string[] = [];
  for await (const lock of listLocks(context, ["accounts"])) outcomes.push(await resolveLock(context, lock));
  expect(outcomes).toEqual(["standing"]);
});
