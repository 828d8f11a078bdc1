import { type Database, float, int, type OpenOptions, open, table, text, tuple } from "percolatordb";
import { describe, expect, test } from "vitest";
import { gather } from "../../../test/support/gather.js";
import { derive } from "../index.js";

const orders = table("orders", { day: text(), total: int(), note: text() });

const revenue = derive("revenue", {
  from: orders,
  key: [text()],
  groupBy: (order) => [order.day],
  count: true,
  sum: (order) => order.total,
});

const declared = (derivation: Pick<typeof revenue, "tables" | "observers">): OpenOptions => ({
  tables: [orders, ...derivation.tables],
  observers: derivation.observers,
});

function order(db: Database, id: string, day: string, total: number): Promise<void> {
  return db.transact((tx) => {
    tx.set(orders.day, id, day);
    tx.set(orders.total, id, total);
  });
}

async function rowsOf(db: Database, derivation: Pick<typeof revenue, "table">): Promise<unknown> {
  await db.drain();
  await using snapshot = await db.snapshot();
  const rows = await gather(snapshot.scan(derivation.table));
  return Object.fromEntries(rows.map(({ row, value }) => [String(row), { ...value }]));
}

describe("groups", () => {
  test("follow inserts, updates, moves between groups, and deletes", async () => {
    await using db = await open("memory:", declared(revenue));
    await order(db, "a", "monday", 5);
    await order(db, "b", "monday", 7);
    await order(db, "c", "tuesday", 1);
    expect(await rowsOf(db, revenue)).toEqual({
      monday: { count: 2, sum: 12 },
      tuesday: { count: 1, sum: 1 },
    });
    await db.transact((tx) => tx.set(orders.total, "a", 6));
    expect(await rowsOf(db, revenue)).toMatchObject({ monday: { count: 2, sum: 13 } });
    await db.transact((tx) => tx.set(orders.day, "b", "tuesday"));
    expect(await rowsOf(db, revenue)).toEqual({
      monday: { count: 1, sum: 6 },
      tuesday: { count: 2, sum: 8 },
    });
    await db.transact((tx) => tx.deleteRow(orders, "a"));
    expect(await rowsOf(db, revenue)).toEqual({ tuesday: { count: 2, sum: 8 } });
  });

  test("leave out a row without a part of the key, and count one without a summand", async () => {
    await using db = await open("memory:", declared(revenue));
    await db.transact((tx) => tx.set(orders.total, "no day", 5));
    await db.transact((tx) => tx.set(orders.day, "no total", "monday"));
    expect(await rowsOf(db, revenue)).toEqual({ monday: { count: 1, sum: 0 } });
    await db.transact((tx) => tx.set(orders.day, "no day", "monday"));
    expect(await rowsOf(db, revenue)).toEqual({ monday: { count: 2, sum: 5 } });
    await db.transact((tx) => tx.delete(orders.day, "no total"));
    expect(await rowsOf(db, revenue)).toEqual({ monday: { count: 1, sum: 5 } });
  });

  test("leave nothing behind when their rows are gone", async () => {
    const everything = derive("everything", {
      from: orders,
      key: [text()],
      groupBy: (each) => [each.day],
      count: true,
      sum: (each) => each.total,
      min: (each) => each.total,
      max: (each) => each.total,
      top: { n: 2, by: (each) => each.total },
      shards: 4,
    });
    await using db = await open("memory:", declared(everything));
    await using _worker = db.work();
    const ids = Array.from({ length: 40 }, (_, n) => `order ${n}`);
    await Promise.all(ids.map((id, n) => order(db, id, `day ${n % 2}`, n)));
    await db.drain();
    await Promise.all(ids.map((id) => db.transact((tx) => tx.deleteRow(orders, id))));
    await db.drain();
    await using snapshot = await db.snapshot();
    for (const each of everything.tables) expect(await gather(snapshot.scan(each))).toEqual([]);
  });

  test("of a column that is named as a property of objects leave out the rows without it", async () => {
    const results = table("results", { constructor: text(), points: int() });
    const teams = derive("teams", {
      from: results,
      key: [text()],
      groupBy: (each) => [each.constructor],
      sum: (each) => each.points,
    });
    await using db = await open("memory:", { tables: [results], derivations: [teams] });
    await db.transact((tx) => {
      tx.set(results.points, "retired", 1);
      tx.set(results.points, "first", 25);
      tx.set(results.constructor, "first", "Ferrari");
    });
    await db.drain();
    await using snapshot = await db.snapshot();
    expect(await gather(snapshot.scan(teams.table))).toMatchObject([
      { row: ["Ferrari"], value: { sum: 25 } },
    ]);
    expect(await gather(db.parked())).toEqual([]);
  });

  test("without `groupBy` are one group of all rows", async () => {
    const all = derive("all", { from: orders, reads: ["total"], count: true, max: (each) => each.total });
    await using db = await open("memory:", declared(all as never));
    await order(db, "a", "monday", 5);
    await order(db, "b", "tuesday", 9);
    await db.transact((tx) => tx.set(orders.note, "c", "neither day nor total"));
    await db.drain();
    await using snapshot = await db.snapshot();
    expect(await snapshot.row(all.table, "all")).toEqual({ count: 2, max: 9 });
  });

  test("may have keys of several parts, of any type", async () => {
    const parts = derive("parts", {
      from: orders,
      key: [text(), int()],
      groupBy: (each) => [each.day, each.total],
      count: true,
    });
    await using db = await open("memory:", declared(parts as never));
    await order(db, "a", "monday", 5);
    await order(db, "b", "monday", 5);
    await db.drain();
    await using snapshot = await db.snapshot();
    expect(await snapshot.get(parts.table.count, ["monday", 5])).toBe(2);
  });

  test("written by everybody at once do not conflict", async () => {
    await using db = await open("memory:", declared(revenue));
    await using _worker = db.work({ concurrency: 64 });
    await Promise.all(Array.from({ length: 300 }, (_, n) => order(db, `order ${n}`, "today", n)));
    expect(await rowsOf(db, revenue)).toEqual({ today: { count: 300, sum: (299 * 300) / 2 } });
    // A run of one column of a new row may meet that of the other column: once a row, no more.
    expect(db.metrics.conflicts).toBeLessThan(450);
    const before = db.metrics.conflicts;
    const updates = Array.from({ length: 300 }, (_, n) =>
      db.transact((tx) => tx.set(orders.total, `order ${n}`, 1)),
    );
    await Promise.all(updates);
    expect(await rowsOf(db, revenue)).toEqual({ today: { count: 300, sum: 300 } });
    // A run that began before the last commit to a free slot conflicts with it: 0 to 30 of 300 were seen.
    expect(db.metrics.conflicts - before).toBeLessThan(100);
  });
});

describe("runs that overlap", () => {
  const pairs = table("pairs", { left: int(), right: int() });
  const sums = derive("sums", {
    from: pairs,
    count: true,
    sum: ({ left = 0, right = 0 }) => left + right,
  });
  const [ofLeft, ofRight, ofGroup] = sums.observers;
  const options = { tables: [pairs, ...sums.tables], observers: sums.observers };

  test("for two columns of a row conflict, even if one of them changes nothing", async () => {
    await using db = await open("memory:", options);
    await db.transact((tx) => {
      tx.set(pairs.left, "a", 1);
      tx.set(pairs.right, "a", 1);
    });
    await db.drain();
    await db.transact((tx) => tx.set(pairs.left, "a", 2));
    const early = await db.begin();
    await ofLeft!.run(early, [{ row: "a" }] as never);
    // With both changes the sum is the old one, so this run has nothing to change.
    await db.transact((tx) => tx.set(pairs.right, "a", 0));
    await db.transact((tx) => ofRight!.run(tx, [{ row: "a" }] as never));
    await expect(early.commit()).rejects.toMatchObject({ code: "CONFLICT" });
    await db.drain();
    await using snapshot = await db.snapshot();
    expect(await snapshot.row(sums.table, "all")).toEqual({ count: 1, sum: 2 });
  });

  test("for two rows of a group do not conflict, also if one began before the other's commit", async () => {
    await using db = await open("memory:", options);
    await db.transact((tx) => {
      for (const row of ["a", "b", "c"]) tx.set(pairs.left, row, 1);
    });
    const early = await db.begin();
    for (const row of ["a", "b"]) await db.transact((tx) => ofLeft!.run(tx, [{ row }] as never));
    await ofLeft!.run(early, [{ row: "c" }] as never);
    await early.commit();
    await db.drain();
    await using snapshot = await db.snapshot();
    expect(await snapshot.row(sums.table, "all")).toEqual({ count: 3, sum: 3 });
  });

  test("for one group conflict, even if one of them changes nothing", async () => {
    await using db = await open("memory:", options);
    await db.transact((tx) => tx.set(pairs.left, "a", 1));
    await db.drain();
    const set = async (value: number) => {
      await db.transact((tx) => tx.set(pairs.left, "a", value));
      await db.transact((tx) => ofLeft!.run(tx, [{ row: "a" }] as never));
    };
    await set(2);
    const early = await db.begin();
    await ofGroup!.run(early, [{ row: "all" }] as never);
    await set(1);
    await db.transact((tx) => ofGroup!.run(tx, [{ row: "all" }] as never));
    await expect(early.commit()).rejects.toMatchObject({ code: "CONFLICT" });
  });
});

describe("sums", () => {
  const amounts = table("amounts", { amount: float() });
  const total = derive("total", { from: amounts, sum: (row) => row.amount });
  const options = { tables: [amounts, ...total.tables], observers: total.observers };
  const sumOf = async (db: Database) => {
    await db.drain();
    return db.transact((tx) => tx.get(total.table.sum, "all"));
  };
  const set = (db: Database, row: string, amount: number) =>
    db.transact((tx) => tx.set(amounts.amount, row, amount));

  test("with fractions are exact until they are rounded once, and leave no trace", async () => {
    await using db = await open("memory:", options);
    for (let n = 0; n < 10; n++) await set(db, `row ${n}`, 0.1);
    expect(await sumOf(db)).toBe(1);
    await set(db, "huge", 1e300);
    expect(await sumOf(db)).toBe(1e300);
    await db.transact((tx) => tx.delete(amounts.amount, "huge"));
    expect(await sumOf(db)).toBe(1);
    await set(db, "row 0", -0);
    expect(await sumOf(db)).toBe(0.9);
  });

  test("of integers beyond the safe ones are refused, not rounded, and come back", async () => {
    await using db = await open("memory:", {
      ...options,
      observers: derive("total", {
        from: amounts,
        sum: (row) => row.amount,
        observer: { attempts: 1 },
      }).observers,
    });
    await set(db, "a", Number.MAX_SAFE_INTEGER);
    await set(db, "b", 1);
    await db.drain();
    const [parked, ...others] = await gather(db.parked());
    expect(others).toEqual([]);
    const tooLarge = 'Derivation "total", group all: the sum is too large';
    expect(parked?.error.message).toContain(tooLarge);
    await using snapshot = await db.snapshot();
    const failed = {
      row: "all",
      error: expect.objectContaining({ message: expect.stringContaining(tooLarge) }),
    };
    expect(await total.compare(snapshot)).toEqual([expect.objectContaining(failed)]);
    await expect(gather(total.recompute(snapshot))).rejects.toThrow(tooLarge);
    await set(db, "a", 5);
    expect(await sumOf(db)).toBe(6);
    expect(await gather(db.parked())).toEqual([]);
  });
});

describe("extremes", () => {
  const scores = table("scores", { game: text(), points: int(), player: text() }, { key: tuple(int()) });
  const best = derive("best", {
    from: scores,
    key: [text()],
    groupBy: (score) => [score.game],
    min: (score) => score.points,
    max: (score) => score.player,
    top: { n: 2, by: (score) => score.points },
  });

  test("are right after the present one is deleted, changed or moved", async () => {
    await using db = await open("memory:", { tables: [scores, ...best.tables], observers: best.observers });
    const score = (id: number, game: string, points: number, player: string) =>
      db.transact((tx) => {
        tx.set(scores.game, [id], game);
        tx.set(scores.points, [id], points);
        tx.set(scores.player, [id], player);
      });
    const row = async (game: string) => {
      await db.drain();
      return db.transact((tx) => tx.row(best.table, [game]));
    };
    await score(1, "chess", -5, "ann");
    await score(2, "chess", 0, "bob");
    await score(3, "chess", 10, "\u{1f600}");
    await score(4, "chess", 10, "\uffff");
    expect(await row("chess")).toEqual({
      min: -5,
      max: "\u{1f600}",
      top: [
        { by: 10, row: "[4]" },
        { by: 10, row: "[3]" },
      ],
    });
    await db.transact((tx) => tx.deleteRow(scores, [4]));
    await db.transact((tx) => tx.set(scores.points, [1], 3));
    await db.transact((tx) => tx.set(scores.game, [3], "go"));
    expect(await row("chess")).toEqual({
      min: 0,
      max: "bob",
      top: [
        { by: 3, row: "[1]" },
        { by: 0, row: "[2]" },
      ],
    });
    expect(await row("go")).toMatchObject({ min: 10, max: "\u{1f600}" });
    for (const id of [1, 2, 3]) await db.transact((tx) => tx.deleteRow(scores, [id]));
    expect(await row("chess")).toBeUndefined();
    expect(await row("go")).toBeUndefined();
  });
});
