import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import type { Oracle } from "../../oracle/index.js";
import { int, table } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { systemTable } from "../cell/system.js";
import type { TransactionContext } from "../context.js";
import { CoreTransaction } from "../core.js";
import { collect } from "../maintenance/collect.js";
import { Safepoint } from "../safepoint.js";
import { transact } from "../transact.js";
import { Transaction } from "../transaction.js";

const accounts = table("accounts", { balance: int() });
const cacheMs = 5;

/** A process on a store that changes only one row at once. */
function processOn(store: RowStore, oracle: Oracle): TransactionContext {
  const context = bareContext(store, { commit: "two-phase" });
  return { ...context, oracle, safepoint: new Safepoint(store, context.environment, cacheMs) };
}

/** Wraps the store. Its answer about the safepoint is held until the test releases it. */
function holding(store: RowStore, hold: () => Promise<void> | undefined): RowStore {
  return {
    description: store.description,
    capabilities: store.capabilities,
    atomic: store.atomic,
    prepare: (tables) => store.prepare(tables),
    readRow: (read) => {
      const page = store.readRow(read);
      const held = read.table === systemTable ? hold() : undefined;
      return held === undefined ? page : held.then(() => page);
    },
    readRange: (read) => store.readRange(read),
    readRaw: (read) => store.readRaw(read),
    mutate: (mutation) => store.mutate(mutation),
    splitPoints: (name, most) => store.splitPoints(name, most),
    statistics: () => store.statistics(),
    close: () => store.close(),
  };
}

test("a writer that was paused between its read of the safepoint and its prewrite does not miss a collected delete", async () => {
  let last = 0;
  const oracle: Oracle = { next: async () => ++last, latest: () => last };
  const store = memoryStore({ atomicBatches: false });
  let isHolding = false;
  let release = () => {};
  let onHeld = () => {};
  const heldOnce = new Promise<void>((resolve) => {
    onHeld = resolve;
  });
  const hold = () => {
    if (!isHolding) return undefined;
    isHolding = false;
    onHeld();
    return new Promise<void>((resolve) => {
      release = resolve;
    });
  };
  const slow = processOn(holding(store, hold), oracle);
  const other = processOn(store, oracle);
  await transact(other, (tx) => tx.set(accounts.balance, "alice", 1));
  const tx = new Transaction(await CoreTransaction.begin(slow));
  tx.set(accounts.balance, "alice", ((await tx.get(accounts.balance, "alice")) ?? 0) + 1);
  await new Promise((resolve) => setTimeout(resolve, 2 * cacheMs));

  isHolding = true;
  const committing = tx.commit();
  await heldOnce;
  await transact(other, (tx2) => tx2.delete(accounts.balance, "alice"));
  await other.background.settled();
  await oracle.next();
  await collect(other, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
  release();
  await expect(committing).rejects.toMatchObject({ retryable: true });
});
