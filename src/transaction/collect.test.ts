import { expect, test } from "vitest";
import { bareContext } from "../../test/support/context.js";
import { int, table } from "../schema/index.js";
import type { RowMutation, RowStore } from "../store/index.js";
import { memoryStore } from "../store/memory/index.js";
import { collect } from "./collect.js";
import { Snapshot } from "./snapshot.js";
import { transact } from "./transact.js";

const accounts = table("accounts", { balance: int() });

/** A store that loses some requests: they are not applied, and nobody learns of it. */
function losing(store: RowStore, isLost: (mutation: RowMutation) => boolean): RowStore {
  return {
    description: store.description,
    capabilities: store.capabilities,
    atomic: store.atomic,
    prepare: (tables) => store.prepare(tables),
    readRow: (read) => store.readRow(read),
    readRange: (read) => store.readRange(read),
    readRaw: (read) => store.readRaw(read),
    mutate: async (mutation) => (isLost(mutation) ? "unknown" : await store.mutate(mutation)),
    splitPoints: (name, most) => store.splitPoints(name, most),
    statistics: () => store.statistics(),
    close: () => store.close(),
  };
}

const dropsOldVersions = ({ table: name, guards }: RowMutation) => name === "accounts" && guards.length === 0;

test("a delete marker stays where the store does not say that the versions below it went", async () => {
  const store = memoryStore();
  const context = bareContext(store);
  await transact(context, (tx) => tx.set(accounts.balance, "alice", 1));
  await transact(context, (tx) => tx.delete(accounts.balance, "alice"));
  const unlucky = bareContext(losing(store, dropsOldVersions));
  await collect(unlucky, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
  await using snapshot = new Snapshot(context, await context.oracle.latest());
  expect(await snapshot.get(accounts.balance, "alice")).toBeUndefined();

  // The next collection takes both.
  await collect(context, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
  expect(store.statistics()).toMatchObject({ cells: 1 });
});
