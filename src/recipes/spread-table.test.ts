import fc from "fast-check";
import { float, int, observer, open, type ScanOptions, table, text } from "percolatordb";
import { describe, expect, test } from "vitest";
import { variants, withDatabase } from "../../test/support/databases.js";
import { gather } from "../../test/support/gather.js";
import { spreadTable } from "./index.js";

const events = spreadTable("events", { what: text() }, { key: [int(), text()], spreads: 4 });

describe.each(variants)("on $store, $commit", (variant) => {
  test("ascending keys are spread, and scanned in order", async () => {
    await withDatabase(variant, { tables: [events.table] }, async (db) => {
      await db.transact((tx) => {
        for (let n = 0; n < 40; n++) tx.set(events.table.what, events.row(n, "x"), `event ${n}`);
      });
      await using snapshot = await db.snapshot();
      const times = async (options = {}) =>
        (await gather(events.scan(snapshot, events.table.what, options))).map(({ row: [time] }) => time);
      expect(await times()).toEqual(Array.from({ length: 40 }, (_, n) => n));
      expect(await times({ start: [10, "x"], end: [14, ""] })).toEqual([10, 11, 12, 13]);
      expect(await times({ reverse: true, limit: 3 })).toEqual([39, 38, 37]);
      expect(await times({ after: [36, "x"] })).toEqual([37, 38, 39]);
      expect(await times({ after: [3, "x"], reverse: true })).toEqual([2, 1, 0]);
      expect(await times({ prefix: [7] })).toEqual([7]);
      expect(await times({ start: [36], end: [38] })).toEqual([36, 37]);
      const spreads = new Set(
        (await gather(snapshot.scan(events.table.what))).map(({ row: [spread] }) => spread),
      );
      expect(spreads).toEqual(new Set([0, 1, 2, 3]));
      expect(await snapshot.get(events.table.what, events.row(7, "x"))).toBe("event 7");
    });
  });
});

test("consecutive keys are distributed evenly over the spreads", () => {
  const spread = spreadTable("spread", { value: int() }, { spreads: 16 });
  const counts = new Map<number, number>();
  for (let n = 0; n < 16_000; n++) {
    const [at] = spread.row(`key ${n}`);
    counts.set(at, (counts.get(at) ?? 0) + 1);
  }
  expect(counts.size).toBe(16);
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});

test("keys of one string are scanned by the start of the string, with bounds and backwards", async () => {
  const names = spreadTable("names", { value: int() }, { spreads: 4 });
  const keys = ["a", "ab", "abc", "ac", "b", "ba", "\u{d7ff}x", "\u{d7ff}y", "\u{e000}", "\u{10ffff}a"];
  await using db = await open("memory:", { tables: [names.table] });
  await db.transact((tx) => {
    for (const [n, key] of keys.entries()) tx.set(names.table.value, names.row(key), n);
  });
  await using snapshot = await db.snapshot();
  const found = async (options: ScanOptions<readonly [string]>) =>
    (await gather(names.scan(snapshot, names.table.value, options))).map(({ row: [key] }) => key);
  for (const prefix of ["", "a", "ab", "b", "c", "\u{d7ff}", "\u{10ffff}"]) {
    const wanted = keys.filter((key) => key.startsWith(prefix));
    expect(await found({ prefix })).toEqual(wanted);
    expect(await found({ prefix, reverse: true })).toEqual(wanted.toReversed());
  }
  expect(await found({ prefix: "a", start: "ab", end: ["ac"] })).toEqual(["ab", "abc"]);
  expect(await found({ prefix: "a", start: "0", end: "z", after: ["a"], limit: 2 })).toEqual(["ab", "abc"]);
  expect(await found({ after: "ab" as never, limit: 2 })).toEqual(["abc", "ac"]);
});

test("observers get rows, from which the key can be computed", async () => {
  const lengths = table("lengths", { length: int() });
  const measure = observer("measure", events.table.what, (tx, { row, value = "" }) => {
    const [time, id] = events.key(row);
    tx.set(lengths.length, `${time}/${id}`, value.length);
  });
  await using db = await open("memory:", { observers: [measure] });
  await db.transact((tx) => tx.set(events.table.what, events.row(5, "a"), "hello"));
  await db.drain();
  expect(await db.transact((tx) => tx.get(lengths.length, "5/a"))).toBe(5);
});

test("a scan of keys of any kind returns them in the order of an ordinary table", async () => {
  const key = fc.tuple(fc.double({ noNaN: true }), fc.string({ unit: "grapheme", maxLength: 3 }));
  const same = fc.asyncProperty(fc.array(key, { maxLength: 12 }), fc.boolean(), async (keys, reverse) => {
    const spread = spreadTable("spread", { value: int() }, { key: [float(), text()], spreads: 3 });
    const plain = spreadTable("plain", { value: int() }, { key: [float(), text()], spreads: 2 });
    await using db = await open("memory:");
    await db.transact(async (tx) => {
      for (const [n, each] of keys.entries()) {
        tx.set(spread.table.value, spread.row(...each), n);
        tx.set(plain.table.value, [0, ...each], n);
      }
      const found = await gather(spread.scan(tx, spread.table.value, { reverse }));
      const wanted = await gather(tx.scan(plain.table.value, { prefix: [0], reverse }));
      expect(found).toEqual(wanted.map(({ row, value }) => ({ row: row.slice(1), value })));
    });
  });
  await fc.assert(same, { numRuns: 40 });
});

test("invalid options are refused", () => {
  expect(() => spreadTable("spread", { value: int() }, { spreads: 1 })).toThrow("`spreads`");
});
