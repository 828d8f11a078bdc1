import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { StoreError } from "../../errors/index.js";
import { int, table } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { Snapshot } from "../read/snapshot.js";
import type { CommitHooks } from "../steps.js";
import { transact } from "../transact.js";

const accounts = table("accounts", { balance: int() });

/** Wraps the store. One read of all versions fails on demand. */
function failingOnce(store: RowStore, isToFail: () => boolean): RowStore {
  return {
    description: store.description,
    capabilities: store.capabilities,
    atomic: store.atomic,
    prepare: (tables) => store.prepare(tables),
    readRow: (read) => store.readRow(read),
    readRange: (read) => store.readRange(read),
    readRaw: (read) => {
      if (isToFail()) throw new StoreError("The store did not answer a read.");
      return store.readRaw(read);
    },
    mutate: (mutation) => store.mutate(mutation),
    splitPoints: (name, most) => store.splitPoints(name, most),
    statistics: () => store.statistics(),
    close: () => store.close(),
  };
}

test("a commit that was applied, and confirmed by its retry, is completely committed even if a read fails then", async () => {
  let failures = 0;
  const hooks: CommitHooks = {
    async step(name, _info, run) {
      const answer = await run();
      if (name !== "commit-primary") return answer;
      failures = 1;
      return "rejected" as typeof answer;
    },
  };
  const store = failingOnce(memoryStore(), () => failures-- > 0);
  const context = bareContext(store, { commit: "two-phase" }, hooks);
  await transact(context, (tx) => {
    tx.set(accounts.balance, "alice", 1);
    tx.set(accounts.balance, "bob", 2);
  });
  await context.background.settled();
  await using snapshot = new Snapshot(context, await context.oracle.next());
  expect(await snapshot.getMany(accounts.balance, ["alice", "bob"])).toEqual([1, 2]);
});
