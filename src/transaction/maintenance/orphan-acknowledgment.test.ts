import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { encodeTimestamp } from "../cell/records.js";
import type { ColumnObserver, ObservedColumns } from "../context.js";
import { CoreTransaction } from "../core.js";
import { transact } from "../transact.js";
import { collect } from "./collect.js";

const accounts = table("accounts", { balance: int() });

test("collection leaves no acknowledgment of a deleted cell, though its observer was late", async () => {
  const store = memoryStore();
  const bare = bareContext(store);
  const acknowledgment = Buffer.from("~ack\0o\0balance");
  const observer: ColumnObserver = {
    name: "o",
    acknowledgment,
    parked: Buffer.from("~parked\0o\0balance"),
    since: 0,
    acknowledged: (value) => Number(Buffer.from(value).readBigUInt64BE()),
    acknowledging: (start) => encodeTimestamp(start),
    passed: () => true,
  };
  const view: ObservedColumns = {
    ...(await bare.notifications.fresh()),
    observersOf: (_, column) => (Buffer.from(column).toString() === "balance" ? [observer] : []),
  };
  const context = { ...bare, notifications: { ...bare.notifications, fresh: () => view } };
  const run = () => collect(context, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });

  await transact(context, (tx) => tx.set(accounts.balance, "alice", 1));
  await transact(context, (tx) => tx.delete(accounts.balance, "alice"));
  // The safepoint may now be above the deletion, but is below the late acknowledgment.
  const release = context.active.register(await context.oracle.latest());
  const late = await CoreTransaction.begin(context, { system: true });
  const row = Buffer.from("alice");
  late.write({ table: "accounts", row, column: acknowledgment, value: encodeTimestamp(late.startTimestamp) });
  await late.commit();
  await run(); // drops the marker, and the acknowledgments up to the safepoint only
  release();
  await run();
  await run();
  const left = await store.readRow({
    table: "accounts",
    row,
    columns: [{ exact: acknowledgment }],
    at: Number.POSITIVE_INFINITY,
  });
  expect(left.cells).toEqual([]);
});
