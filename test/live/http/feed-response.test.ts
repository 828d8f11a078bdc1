import { bytes, type Database, family, feed, int, open, table, text, tuple } from "percolatordb";
import { type FeedDatabase, type FeedResponseOptions, feedResponse } from "percolatordb/live";
import { TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { Blocks } from "./support/events.js";

const orders = table("orders", { total: int(), state: text(), tags: family(text()) });
const lines = table("lines", { picture: bytes() }, { key: tuple(text(), int()) });
const orderFeed = feed("order-feed", [orders.total, orders.state, orders.tags, lines.picture]);

const request = (lastEventId?: number | string) =>
  new Request("http://localhost/", {
    headers: lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) },
  });

async function withFeed(use: (db: Database, errors: unknown[]) => Promise<void>): Promise<void> {
  const errors: unknown[] = [];
  await using db = await open("memory:", { feeds: [orderFeed] });
  await use(db, errors);
}

async function now(db: Database): Promise<number> {
  await using snapshot = await db.snapshot();
  return snapshot.timestamp;
}

/** Commits an order, and returns the timestamp. */
async function order(db: Database, row: string, total: number): Promise<number> {
  await db.transact((tx) => tx.set(orders.total, row, total));
  const [version] = await db.history(orders.total, row);
  return version!.commitTimestamp;
}

async function connect(db: Database, lastEventId?: number, options: FeedResponseOptions = {}) {
  const response = await feedResponse(db, orderFeed, request(lastEventId), options);
  expect(response.status).toBe(200);
  return new Blocks(response);
}

describe("feedResponse", () => {
  test("sends one event for each transaction, with its commit timestamp as the id", async () => {
    await withFeed(async (db) => {
      const since = await now(db);
      await db.transact(
        (tx) => {
          tx.set(orders.total, "o1", 30);
          tx.set(orders.tags.at("red"), "o1", "r");
          tx.set(lines.picture, ["o1", 1], Buffer.from([1, 2]));
        },
        { label: "shop" },
      );
      await db.transact((tx) => tx.delete(orders.total, "o1"));
      const blocks = await connect(db, since);
      const first = (await blocks.next())!;
      const commitTimestamp = Number(first.id);
      expect(first.event).toBe("message");
      const shared = { commitTimestamp, isDeleted: false, label: "shop" };
      expect(JSON.parse(first.data!)).toEqual([
        { ...shared, table: "lines", row: ["o1", 1], column: "picture", value: { $bytes: "AQI=" } },
        { ...shared, table: "orders", row: "o1", column: "tags", qualifier: "red", value: "r" },
        { ...shared, table: "orders", row: "o1", column: "total", value: 30 },
      ]);
      const second = (await blocks.next())!;
      expect(Number(second.id)).toBeGreaterThan(commitTimestamp);
      expect(JSON.parse(second.data!)).toEqual([
        { commitTimestamp: Number(second.id), table: "orders", row: "o1", column: "total", isDeleted: true },
      ]);
      const again = await connect(db, commitTimestamp);
      expect((await again.next())?.id).toBe(second.id);
      for (const each of [blocks, again]) await each.cancel();
    });
  });

  test("tells a new client from when on it gets changes, so that it misses none if it is cut off", async () => {
    await withFeed(async (db) => {
      const before = await order(db, "before", 1);
      const blocks = await connect(db);
      const ready = (await blocks.next())!;
      expect(ready).toMatchObject({ event: "ready", data: `{"timestamp":${ready.id}}` });
      expect(Number(ready.id)).toBeGreaterThanOrEqual(before);
      await blocks.cancel();
      const missed = await order(db, "missed", 2);
      const again = await connect(db, Number(ready.id));
      // So the client knows that the server works, and its next pause is short.
      expect(await again.block()).toMatchObject({ comment: "", data: undefined });
      expect((await again.next())?.id).toBe(String(missed));
      await again.cancel();
    });
  });

  test("begins with a snapshot if asked to, and continues without one", async () => {
    await withFeed(async (db) => {
      await db.transact((tx) => {
        for (let index = 0; index < 2_500; index++) tx.set(orders.total, `o${index + 10_000}`, index);
      });
      const blocks = await connect(db, undefined, { snapshot: true });
      const reset = (await blocks.next())!;
      expect(reset).toMatchObject({ event: "reset", id: undefined });
      const counts: number[] = [];
      let next = (await blocks.next())!;
      for (; next.event === "cells"; next = (await blocks.next())!) {
        expect(next.id).toBeUndefined();
        expect(Buffer.byteLength(next.data!)).toBeLessThan(70_000);
        counts.push((JSON.parse(next.data!) as unknown[]).length);
      }
      expect(counts.reduce((sum, each) => sum + each)).toBe(2_500);
      expect(counts.length).toBeGreaterThan(2);
      expect(next.event).toBe("ready");
      expect(next.data).toBe(reset.data);
      expect(next.id).toBe(String((JSON.parse(next.data!) as { timestamp: number }).timestamp));
      const changed = await order(db, "o1", 5);
      expect((await blocks.next())?.id).toBe(String(changed));
      await blocks.cancel();
      // The response begins before there is anything to send.
      const again = await connect(db, changed, { snapshot: true });
      const later = await order(db, "o1", 6);
      expect(await again.next()).toMatchObject({ event: "message", id: String(later) });
      await again.cancel();
    });
  });

  test("sends an empty snapshot as reset and ready", async () => {
    await withFeed(async (db) => {
      const blocks = await connect(db, undefined, { snapshot: true });
      expect((await blocks.next())?.event).toBe("reset");
      expect((await blocks.next())?.event).toBe("ready");
      await blocks.cancel();
    });
  });

  test("a client that was away for too long gets 410, or a snapshot if asked to", async () => {
    const clock = new TestClock();
    const shortFeed = feed("short-feed", [orders.total], { retentionMs: 60_000 });
    const environment = clock.process();
    await using db = await open("memory:", { feeds: [shortFeed], environment, retentionMs: 60_000 });
    const old = await order(db, "a", 1);
    await order(db, "a", 2);
    await clock.advance(200_000);
    await order(db, "a", 3);
    await db.collect();
    const refused = await feedResponse(db, shortFeed, request(old));
    expect(refused.status).toBe(410);
    expect(await refused.json()).toEqual({
      code: "STALE_SNAPSHOT",
      message:
        "The feed no longer has all changes after Last-Event-ID. Load the current state, and connect again without Last-Event-ID.",
    });
    const blocks = new Blocks(await feedResponse(db, shortFeed, request(old), { snapshot: true }));
    expect((await blocks.next())?.event).toBe("reset");
    expect(await blocks.data()).toMatchObject([{ row: "a", value: 3 }]);
    await blocks.cancel();
  });

  test.each(["x", "1.5", "-1", "1e3", "9".repeat(17)])("refuses the id %s", async (id) => {
    await withFeed(async (db) => {
      const response = await feedResponse(db, orderFeed, request(id));
      expect([response.status, await response.json()]).toMatchObject([400, { code: "INVALID_ARGUMENT" }]);
    });
  });

  test("refuses an id of the future", async () => {
    await withFeed(async (db, errors) => {
      const future = (await now(db)) + 3_600_000_000;
      const response = await feedResponse(db, orderFeed, request(future), {
        onError: (error) => errors.push(error),
      });
      expect([response.status, await response.json()]).toMatchObject([400, { code: "INVALID_ARGUMENT" }]);
      expect(errors).toEqual([]);
    });
  });

  test("answers 404 if the database has no such feed, and tells the program", async () => {
    await withFeed(async (db, errors) => {
      const other = feed("other-feed", [orders.total]);
      for (const snapshot of [false, true]) {
        const response = await feedResponse(db, other, request(), {
          snapshot,
          onError: (error) => errors.push(error),
        });
        expect([response.status, await response.json()]).toMatchObject([404, { code: "SCHEMA" }]);
      }
      expect(String(errors[0])).toContain('no feed named "other-feed"');
      expect(errors).toHaveLength(2);
    });
  });

  test("ends with an error event if a transaction or a cell is too large for an event", async () => {
    await withFeed(async (db, errors) => {
      const onError = (error: unknown) => errors.push(error);
      const since = await now(db);
      const fitting = await order(db, "a", 1);
      await db.transact((tx) => {
        for (let index = 0; index < 20; index++) tx.set(orders.total, `o${index}`, index);
      });
      const blocks = await connect(db, since, { maxBytes: 500, onError });
      expect((await blocks.next())?.id).toBe(String(fitting));
      expect(await blocks.next()).toMatchObject({
        event: "error",
        data: '{"code":"LIMIT_EXCEEDED","isFinal":true}',
      });
      expect(await blocks.next()).toBeUndefined();
      expect(String(errors)).toContain("A transaction of a feed has more than 500 bytes of JSON");
      const cells = await connect(db, undefined, { maxBytes: 50, onError, snapshot: true });
      expect((await cells.next())?.event).toBe("reset");
      expect((await cells.next())?.event).toBe("error");
      expect(String(errors[1])).toContain("A cell of a feed");
    });
  });

  test("begins another event before cells are too many bytes for one", async () => {
    await withFeed(async (db) => {
      await db.transact((tx) => {
        for (let index = 0; index < 20; index++) tx.set(orders.total, `o${index}`, index);
      });
      const blocks = await connect(db, undefined, { maxBytes: 500, snapshot: true });
      let cells = 0;
      await blocks.next();
      for (let next = await blocks.next(); next?.event === "cells"; next = await blocks.next()) {
        expect(Buffer.byteLength(next.data!)).toBeLessThanOrEqual(500);
        cells += (JSON.parse(next.data!) as unknown[]).length;
      }
      expect(cells).toBe(20);
      await blocks.cancel();
    });
  });

  test("waits for a slow client, and ends one that takes nothing", async () => {
    await withFeed(async (db) => {
      const clock = new TestClock();
      const since = await now(db);
      const written: number[] = [];
      for (let index = 0; index < 50; index++) written.push(await order(db, "a", index));
      const options = { environment: clock.process(), slowMs: 1_000, batch: 7 };
      const blocks = await connect(db, since, options);
      const read: number[] = [];
      for (let index = 0; index < 50; index++) {
        await clock.advance(900);
        read.push(Number((await blocks.next())?.id));
      }
      expect(read).toEqual(written);
      await clock.advance(1_000);
      await expect(blocks.next()).rejects.toThrow("took nothing");
    });
  });

  test("stops reading when the client leaves: before it reads, while it waits, and while it is behind", async () => {
    await withFeed(async (db) => {
      const since = await now(db);
      for (let index = 0; index < 5; index++) await order(db, "a", index);
      let open = 0;
      const counted = {
        isClosed: false,
        follow: db.follow.bind(db),
        async *changes(...given: Parameters<typeof db.changes>) {
          open++;
          try {
            yield* db.changes(...given);
          } finally {
            open--;
          }
        },
      } as unknown as FeedDatabase;
      for (const reads of [0, 1, 5]) {
        const blocks = new Blocks(await feedResponse(counted, orderFeed, request(since)));
        for (let index = 0; index < reads; index++) await blocks.next();
        const next = reads === 5 ? blocks.next() : undefined;
        expect(open).toBe(1);
        await blocks.cancel();
        await next;
        for (let turn = 0; open > 0 && turn < 100; turn++)
          await new Promise((resolve) => setImmediate(resolve));
        expect(open).toBe(0);
      }
    });
  });

  test("every response ends when the database is closed, and later requests are refused", async () => {
    await withFeed(async (db) => {
      const all = [await connect(db), await connect(db, undefined, { snapshot: true })];
      for (const blocks of all)
        for (let next = await blocks.next(); next?.event !== "ready"; ) next = await blocks.next();
      const ends = all.map(async (blocks) => [await blocks.next(), await blocks.next()]);
      await db.close();
      for (const [last, end] of await Promise.all(ends)) {
        expect(last).toMatchObject({ event: "error", data: '{"code":"CLOSED","isFinal":false}' });
        expect(end).toBeUndefined();
      }
      expect((await feedResponse(db, orderFeed, request())).status).toBe(503);
    });
  });

  test("refuses unknown options and invalid batches", async () => {
    await withFeed(async (db) => {
      await expect(
        feedResponse(db, orderFeed, request(), { throttleMs: 1 } as FeedResponseOptions),
      ).rejects.toThrow("`feedResponse` has no option `throttleMs`");
      for (const batch of [0, 1.5, 100_001]) {
        await expect(feedResponse(db, orderFeed, request(), { batch, snapshot: true })).rejects.toThrow(
          "`batch` of `feedResponse` must be a whole number from 1 to 100000",
        );
      }
    });
  });
});
