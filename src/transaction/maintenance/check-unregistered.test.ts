import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import type { ColumnObserver, ObservedColumns } from "../context.js";
import { transact } from "../transact.js";
import { check } from "./check.js";

const accounts = table("accounts", { balance: int() });

test("a check that begins before an observer is unregistered reports none of its cells", async () => {
  const bare = bareContext(memoryStore());
  await transact(bare, (tx) => tx.set(accounts.balance, "alice", 1));
  const observer: ColumnObserver = {
    name: "o",
    acknowledgment: Buffer.from("~ack\0o\0balance"),
    parked: Buffer.from("~parked\0o\0balance"),
    since: 0,
    acknowledged: () => 0,
    acknowledging: () => Buffer.alloc(8),
    passed: () => true,
  };
  const nobody = await bare.notifications.fresh();
  const before: ObservedColumns = { ...nobody, observed: () => true, observersOf: () => [observer] };
  // `db.unregister` of another process removes the observer, its hints and its acknowledgments during
  // the check. This process's copy is from before.
  const notifications = { ...bare.notifications, fresh: () => before, reload: () => nobody };
  const context = { ...bare, notifications };
  expect(await check(context, ["accounts"])).toEqual([]);
});
