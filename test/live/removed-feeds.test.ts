import { type Database, feed, int, table } from "percolatordb";
import { describe, expect, test, vi } from "vitest";
import { engines, withTwo } from "../support/databases.js";

const orders = table("orders", { total: int() });
const orderFeed = feed("order-feed", [orders.total]);

function set(db: Database, row: string): Promise<void> {
  return db.transact((tx) => tx.set(orders.total, row, 1));
}

/** Stops a database before it reads the entries of feeds in order to remove them. */
function pausedRemoval({ liveSource }: Database): { reached: Promise<void>; resume: () => void } {
  const { store } = liveSource.registry.context;
  const readRaw = store.readRaw.bind(store);
  let resume = () => {};
  const resumed = new Promise<void>((resolve) => {
    resume = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    vi.spyOn(store, "readRaw").mockImplementation((read, options) => {
      if (read.table !== "~feeds") return readRaw(read, options);
      resolve();
      return resumed.then(() => readRaw(read, options));
    });
  });
  return { reached, resume };
}

/** How many entries are stored, of any feed. */
async function entriesIn({ liveSource }: Database): Promise<number> {
  const { store, background } = liveSource.registry.context;
  await background.settled();
  const columns = [{ start: new Uint8Array(0), end: undefined }];
  const { rows } = await store.readRaw({ table: "~feeds", columns, parts: ["lock", "write", "data"] });
  return rows.length;
}

describe.each(engines)("a feed that is removed on $store, $commit", (variant) => {
  test("and recorded again before its entries are gone keeps the new ones", async () => {
    await withTwo(variant, { feeds: [orderFeed] }, async (one, other) => {
      await set(one, "before");
      const early = await other.begin();
      early.set(orders.total, "early", 1);
      const removal = pausedRemoval(one);
      const removing = one.removeFeed(orderFeed.name);
      await removal.reached;
      const { registry } = other.liveSource;
      await registry.reload();
      await registry.register([], [], [orderFeed]);
      await registry.untilAllKnown([], [orderFeed]);
      await using snapshot = await other.snapshot();
      await early.commit();
      await set(other, "after");
      removal.resume();
      await removing;
      expect(await entriesIn(one)).toBe(2);
      const found: string[] = [];
      for await (const { row } of other.changes(orderFeed, { since: snapshot.timestamp })) {
        if (found.push(row) === 2) break;
      }
      expect(found).toEqual(["early", "after"]);
    });
  });

  test("and whose removal is interrupted: collection removes the rest", async () => {
    await withTwo(variant, { feeds: [orderFeed, feed("kept", [orders.total])] }, async (one, other) => {
      await set(one, "a");
      await set(other, "b");
      const ending = new AbortController();
      const removal = pausedRemoval(one);
      const removing = one.removeFeed(orderFeed.name, { signal: ending.signal });
      await removal.reached;
      ending.abort();
      removal.resume();
      await expect(removing).rejects.toMatchObject({ code: "ABORTED" });
      expect(await entriesIn(one)).toBe(4);
      await other.collect();
      expect(await entriesIn(one)).toBe(2);
    });
  });
});
