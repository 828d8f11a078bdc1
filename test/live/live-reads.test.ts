import {
  bytes,
  type Database,
  family,
  int,
  loadPart,
  open,
  type Snapshot,
  type Transaction,
  table,
  text,
  tuple,
} from "percolatordb";
import { expect, test } from "vitest";
import { collect, counted, settle } from "./live-values.js";

const things = table("things", { a: int(), ab: int(), tags: family(text()) });
const others = table("others", { a: int() });
const witness = table("witness", { a: int() });

async function fill(db: Database): Promise<void> {
  await db.transact((tx) => {
    for (const row of ["b", "d", "f", "h"]) {
      tx.set(things.a, row, 1);
      tx.set(things.ab, row, 1);
      for (const tag of ["m", "o", "q"]) tx.set(things.tags.at(tag), row, tag);
    }
  });
}

async function first<T>(items: AsyncIterable<T>, count: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.length === count) break;
  }
  return taken;
}

type Read = (snapshot: Snapshot) => Promise<unknown>;
type Write = (tx: Transaction) => unknown;
const put = (row: string) => (tx: Transaction) => tx.set(things.a, row, 2);
const remove = (row: string) => (tx: Transaction) => tx.deleteRow(things, row);
const tag = (row: string, qualifier: string) => (tx: Transaction) =>
  tx.set(things.tags.at(qualifier), row, "x");

const cases: Readonly<
  Record<
    string,
    { read: Read; due: Readonly<Record<string, Write>>; notDue: Readonly<Record<string, Write>> }
  >
> = {
  "a cell": {
    read: (snapshot) => snapshot.get(things.a, "b"),
    due: { set: put("b"), deleted: (tx) => tx.delete(things.a, "b") },
    notDue: {
      "another row": put("bb"),
      "another column": (tx) => tx.set(things.ab, "b", 2),
      "another table": (tx) => tx.set(others.a, "b", 2),
    },
  },
  "an absent cell": {
    read: (snapshot) => snapshot.getMany(things.a, ["c", "e"]),
    due: { first: put("c"), second: put("e") },
    notDue: { between: put("d"), "a column that begins alike": (tx) => tx.set(things.ab, "c", 2) },
  },
  "a row": {
    read: (snapshot) => snapshot.row(things, "b"),
    due: { column: put("b"), family: tag("b", "z"), deleted: remove("b") },
    notDue: { "another row": put("a") },
  },
  "an absent row": {
    read: (snapshot) => snapshot.row(things, "c"),
    due: { column: put("c"), family: tag("c", "z") },
    notDue: { "another row": put("d") },
  },
  "the cells of a family": {
    read: (snapshot) => collect(snapshot.entries(things.tags, "b")),
    due: { known: tag("b", "o"), new: tag("b", "a"), last: tag("b", "z") },
    notDue: { column: put("b"), "another row": tag("d", "o") },
  },
  "cells of a family up to a limit": {
    read: (snapshot) => collect(snapshot.entries(things.tags, "b", { limit: 2 })),
    due: { first: tag("b", "m"), between: tag("b", "n"), last: tag("b", "o") },
    notDue: { "after the last": tag("b", "oo"), next: tag("b", "q") },
  },
  "cells of a family until the loop ended": {
    read: (snapshot) => first(snapshot.entries(things.tags, "b", { prefix: "" }), 1),
    due: { first: tag("b", "m"), before: tag("b", "a") },
    notDue: { "after it": tag("b", "n") },
  },
  "cells of a family with a prefix": {
    read: (snapshot) => collect(snapshot.entries(things.tags, "b", { prefix: "o" })),
    due: { itself: tag("b", "o"), longer: tag("b", "ox") },
    notDue: { before: tag("b", "n"), after: tag("b", "p") },
  },
  "a scan of a column": {
    read: (snapshot) => collect(snapshot.scan(things.a)),
    due: { before: put("a"), between: put("c"), after: put("z"), deleted: remove("d") },
    notDue: { "another column": (tx) => tx.set(things.ab, "d", 2), family: tag("d", "o") },
  },
  "a scan of a family": {
    read: (snapshot) => collect(snapshot.scan(things.tags, { start: "c", end: "g" })),
    due: { known: tag("d", "o"), new: tag("e", "o") },
    notDue: { column: put("d"), before: tag("b", "o"), "at the end": tag("g", "o") },
  },
  "a scan of a table with a prefix": {
    read: (snapshot) => collect(snapshot.scan(things, { prefix: "d" })),
    due: { column: put("d"), family: tag("dz", "o") },
    notDue: { before: put("c"), after: put("e") },
  },
  "a scan up to a limit": {
    read: (snapshot) => collect(snapshot.scan(things.a, { limit: 2 })),
    due: { before: put("a"), first: put("b"), between: put("c"), last: put("d"), deleted: remove("d") },
    notDue: { "after the last": put("e"), next: put("f") },
  },
  "a scan up to a limit that it does not reach": {
    read: (snapshot) => collect(snapshot.scan(things.a, { limit: 5 })),
    due: { "at the end": put("z") },
    notDue: { "another table": (tx) => tx.set(others.a, "a", 2) },
  },
  "a scan that ended early": {
    read: (snapshot) => first(snapshot.scan(things, { start: "b" }), 2),
    due: { between: put("c"), last: put("d") },
    notDue: { before: put("a"), after: put("e") },
  },
  "a scan backwards up to a limit": {
    read: (snapshot) => collect(snapshot.scan(things.a, { reverse: true, limit: 2 })),
    due: { after: put("z"), between: put("g"), last: put("f") },
    notDue: { before: put("e"), next: put("d") },
  },
  "an empty scan": {
    read: (snapshot) => collect(snapshot.scan(things.a, { start: "m", end: "n" })),
    due: { in: put("mm") },
    notDue: { at: put("n"), before: put("l") },
  },
};

const each = Object.entries(cases).flatMap(([name, { read, due, notDue }]) => [
  ...Object.entries(due).map(([change, write]) => ({ name, change, isDue: true, read, write })),
  ...Object.entries(notDue).map(([change, write]) => ({ name, change, isDue: false, read, write })),
]);

test.each(each)(
  "$name: whether it runs again after a change: $change, $isDue",
  async ({ read, write, isDue }) => {
    await using db = await open("memory:", { tables: [things, others, witness] });
    await fill(db);
    const query = counted(db, read);
    const seen = counted(db, (snapshot) => snapshot.get(witness.a, "seen"));
    await query.next();
    await seen.next();
    const waiting = query.next().catch(() => undefined);
    const seenNow = seen.next();
    // The first run may be repeated, because the tables were not followed yet.
    while (db.liveSizes.followed < 2) await settle();
    const before = query.runs;
    await db.transact(async (tx) => {
      await write(tx);
      tx.set(witness.a, "seen", 1);
    });
    await seenNow;
    await settle();
    expect(query.runs - before).toBe(isDue ? 1 : 0);
    await query.end();
    await waiting;
  },
);

test("a scan whose failed row is caught runs again when that row is changed", async () => {
  const texts = table("texts", { value: text() });
  await using db = await open("memory:", { tables: [texts] });
  await db.transact((tx) => {
    tx.set(texts.value, "a", "1");
    tx.set(texts.value, "b", "x");
  });
  const numbers = counted(db, async (snapshot) => {
    try {
      const found: number[] = [];
      for await (const { value } of snapshot.scan(texts.value)) found.push(JSON.parse(value) as number);
      return found;
    } catch {
      return "invalid";
    }
  });
  expect((await numbers.next()).value).toBe("invalid");
  const fixed = numbers.next();
  await db.transact((tx) => tx.set(texts.value, "b", "2"));
  expect((await fixed).value).toEqual([1, 2]);
  await numbers.end();
});

test("a bulk load that is published changes what was read of its table", async () => {
  await using db = await open("memory:", { tables: [things, others] });
  const rows = counted(db, (snapshot) => collect(snapshot.scan(others.a)));
  expect((await rows.next()).value).toEqual([]);
  const loaded = rows.next();
  await settle();
  await db.load("first", [loadPart(others, () => [{ row: "a", value: { a: 1 } }])]);
  expect((await loaded).value).toEqual([{ row: "a", value: 1 }]);
  const further = rows.next();
  await db.transact((tx) => tx.set(others.a, "b", 2));
  expect((await further).value).toHaveLength(2);
  await rows.end();
});

test("a query may change the keys that a scan gives it", async () => {
  const pairs = table("pairs", { n: int() }, { key: tuple(bytes(), text()) });
  await using db = await open("memory:", { tables: [pairs] });
  const set = (n: number) => db.transact((tx) => tx.set(pairs.n, [Buffer.from("a"), "1"], n));
  await set(1);
  const change = [
    (row: readonly [Uint8Array, string]) => (row as unknown as string[]).pop(),
    ([first]: readonly [Uint8Array, string]) => first.fill(0).length,
  ];
  const queries = change.map((changed) =>
    counted(db, async (snapshot) => {
      const found: unknown[] = [];
      for await (const { row, value } of snapshot.scan(pairs.n, { limit: 1 }))
        found.push(changed(row), value);
      return found;
    }),
  );
  const nextValues = async () =>
    (await Promise.all(queries.map((query) => query.next()))).map(({ value }) => value);
  expect(await nextValues()).toEqual([
    ["1", 1],
    [1, 1],
  ]);
  const changed = nextValues();
  while (db.liveSizes.followed < 2) await settle();
  await set(2);
  expect(await changed).toEqual([
    ["1", 2],
    [1, 2],
  ]);
  for (const query of queries) await query.end();
});
