import { feed, int, type Oracle, open, table } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { openWithHooks } from "percolatordb/testing";
import { expect, test } from "vitest";

const orders = table("orders", { total: int() });
const orderFeed = feed("order-feed", [orders.total]);

/** Runs something once, before a two-phase commit asks for its commit timestamp. */
function beforeCommitTimestamp(run: () => unknown) {
  let isDone = true;
  return {
    arm: () => {
      isDone = false;
    },
    hooks: {
      step: async <T>(name: string, _: unknown, go: () => Promise<T>): Promise<T> => {
        if (name === "commit-timestamp" && !isDone) {
          isDone = true;
          await run();
        }
        return await go();
      },
    },
  };
}

async function firstChange(db: Awaited<ReturnType<typeof open>>, since: number) {
  for await (const change of db.changes(orderFeed, { since })) return change;
  throw new Error("the feed ended");
}

test("a transaction that commits long after it announced its entry moves the entry, and a reader finds it once", async () => {
  let last = 1_000_000_000;
  const oracle: Oracle = { next: async () => ++last, latest: () => last };
  const late = beforeCommitTimestamp(() => {
    last += 10_000_000;
  });
  const store = memoryStore({ atomicBatches: false });
  await using db = await openWithHooks(store, { oracle, feeds: [orderFeed], hooks: late.hooks });
  // Without atomic batches, a feed is complete two seconds after it was recorded.
  last += 5_000_000;
  const since = await oracle.next();
  late.arm();
  await db.transact((tx) => tx.set(orders.total, "late", 1));
  await db.transact((tx) => tx.set(orders.total, "next", 2));
  const found: (readonly [string, number])[] = [];
  for await (const { row, commitTimestamp } of db.changes(orderFeed, { since })) {
    found.push([row, commitTimestamp]);
    if (row === "next") break;
  }
  const commitOf = async (row: string) => (await db.history(orders.total, row))[0]!.commitTimestamp;
  expect(found).toEqual([
    ["late", await commitOf("late")],
    ["next", await commitOf("next")],
  ]);
  // A reader that begins just before the commit finds it too: the entry is no further back than a
  // reader looks.
  expect(await firstChange(db, found[0]![1] - 1)).toMatchObject({ row: "late" });
  expect(await db.check()).toEqual([]);
  for await (const _ of db.locks()) expect.unreachable("a lock was left behind");
});

test("a transaction that has locked its rows when a feed is declared leaves its entry all the same", async () => {
  const store = memoryStore();
  let declared: Awaited<ReturnType<typeof open>> | undefined;
  const declaring = beforeCommitTimestamp(async () => {
    declared = await open(store, { feeds: [orderFeed], commit: "two-phase" });
  });
  await using db = await openWithHooks(store, {
    tables: [orders],
    commit: "two-phase",
    hooks: declaring.hooks,
  });
  declaring.arm();
  await db.transact((tx) => tx.set(orders.total, "a", 1));
  const [history] = await db.history(orders.total, "a");
  const change = await firstChange(declared!, history!.commitTimestamp - 1);
  expect(change).toMatchObject({ row: "a", value: 1, commitTimestamp: history!.commitTimestamp });
});

test("a transaction that has locked its rows when a feed is removed commits without an entry", async () => {
  const store = memoryStore();
  const other = await open(store, { feeds: [orderFeed], commit: "two-phase" });
  const removing = beforeCommitTimestamp(() => other.removeFeed("order-feed"));
  await using db = await openWithHooks(store, {
    tables: [orders],
    commit: "two-phase",
    hooks: removing.hooks,
  });
  removing.arm();
  await db.transact((tx) => tx.set(orders.total, "a", 1));
  expect(await db.transact((tx) => tx.get(orders.total, "a"))).toBe(1);
  const page = await store.readRaw({
    table: "~feeds",
    columns: [{ start: new Uint8Array(0), end: undefined }],
    parts: ["lock", "write", "data"],
  });
  expect(page.rows).toEqual([]);
});
