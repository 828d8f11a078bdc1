import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { CoreTransaction } from "../core.js";
import { Safepoint } from "../safepoint.js";
import { Transaction } from "../transaction.js";
import { PassingStore } from "../wire/passing-store.js";

const accounts = table("accounts", { balance: int() });

/** A server with atomic batches, as PostgreSQL. */
class Remote extends PassingStore {
  override readonly capabilities = { ...memoryStore().capabilities, remote: true };
}

test.each(["one-phase", "two-phase"] as const)(
  "a %s commit that the safepoint has passed is stale, though this process's copy of it is older",
  async (commit) => {
    const store = new Remote(memoryStore());
    const bare = bareContext(store, { commit });
    const safepoint = new Safepoint(store, bare.environment, 60_000);
    const tx = new Transaction(await CoreTransaction.begin({ ...bare, safepoint }));
    tx.set(accounts.balance, "alice", 1);
    await safepoint.check(tx.startTimestamp); // this process has a copy now
    const other = new Safepoint(store, bare.environment, 60_000); // another process collects
    await other.publish(tx.startTimestamp + 1);
    await expect(tx.commit()).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
  },
);
