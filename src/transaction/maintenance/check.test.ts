import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { memoryStore } from "../../store/memory/index.js";
import { showColumn } from "../cell/address.js";
import { encodeLock, encodeStatus, encodeWrite } from "../cell/records.js";
import { feedColumn } from "../feed/feed-rows.js";
import { rollbackPrimary } from "../lock/primary.js";
import { check } from "./check.js";

const column = Buffer.from("balance");
const cell = (row: string) => ({ table: "accounts", row: Buffer.from(row), column });

/**
 * Writes a committed cell, and a status "rolled back" at the primary of the same transaction. This
 * happens if another transaction meets the lock and pauses until collection has dropped the
 * commit's status. When it continues, it finds nothing at the primary and rolls it back.
 */
async function lateDecision() {
  const store = memoryStore();
  const context = bareContext(store, { commit: "two-phase" });
  const value = encodeWrite({ start: 10, kind: "put", onePhase: false, value: Buffer.from([1]) });
  const mutations = [{ type: "put", column, part: "write", timestamp: 20, value } as const];
  await store.mutate({ ...cell("bob"), guards: [], mutations });
  await rollbackPrimary(context, cell("alice"), 10);
  return context;
}

test("a transaction that was decided again after its status was collected is sound", async () => {
  const context = await lateDecision();
  await context.safepoint.publish(30);
  expect(await check(context, ["accounts"])).toEqual([]);
});

test("a transaction that is rolled back above the safepoint, but has a write, is not", async () => {
  const context = await lateDecision();
  const problems = await check(context, ["accounts"]);
  expect(problems.map(({ invariant }) => invariant)).toEqual(["rolled-back-wrote-nothing"]);
});

test.each([
  ["at", 20, []],
  ["below", 19, ["start-before-commit"]],
] as const)(
  "a lock at the primary of a transaction that committed %s its min_commit_ts",
  async (_, commit, expected) => {
    const store = memoryStore();
    const primary = cell("alice");
    const lock = encodeLock({
      kind: "put",
      primary,
      session: "gone",
      minCommit: 20,
      refreshedAt: 0,
      ttlMs: 1_000,
      value: Buffer.from([1]),
      others: [],
    });
    const status = encodeStatus({ outcome: "committed", commit });
    const mutations = [
      { type: "put", column, part: "lock", timestamp: 10, value: lock },
      { type: "put", column, part: "txn", timestamp: 10, value: status },
    ] as const;
    await store.mutate({ ...primary, guards: [], mutations });
    const problems = await check(bareContext(store, { commit: "two-phase" }), ["accounts"]);
    expect(problems.map(({ invariant }) => invariant)).toEqual(expected);
  },
);

test("a cell whose column cannot be read is a problem, and does not end the check", async () => {
  const store = memoryStore();
  const value = encodeWrite({ start: 1, kind: "put", onePhase: true, value: Buffer.from("v") });
  const write = { type: "put", column: Buffer.of(0xff), part: "write", timestamp: 2, value } as const;
  const tables = ["accounts", "~feeds"];
  for (const table of tables)
    await store.mutate({ table, row: Buffer.from("a"), guards: [], mutations: [write] });
  const message = "cannot be read: the stored bytes ff are not a column";
  expect(await check(bareContext(store), tables)).toEqual([
    { invariant: "readable", where: "accounts/a/0xff", message },
  ]);
});

test("all columns of a large entry in a feed can be shown", () => {
  expect([1, 127, 128, 256].map((part) => showColumn(feedColumn(part)))).toEqual([
    ":\x01",
    ":\x7f",
    "0x0080",
    "\x01:",
  ]);
});
