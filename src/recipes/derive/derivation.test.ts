import { type Codec, type Database, family, int, open, storedAs, table, text } from "percolatordb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/databases.js";
import { gather } from "../../../test/support/gather.js";
import { derive } from "../index.js";

const orders = table("orders", { day: text(), total: int() });
const customers = table("customers", { name: text() });

interface Rest {
  readonly version: number;
  readonly reads: readonly ("day" | "total")[];
}

/** The derivation in a version, and what it counts as the day's revenue. */
const revenueIn = (version: number, factor: number) =>
  derive("revenue", {
    from: orders,
    key: [text()],
    groupBy: (order) => [version < 3 ? order.day : order.day?.slice(0, 3)],
    sum: (order) => (order.total === undefined ? undefined : order.total * factor),
    top: { n: version, by: (order) => order.total },
    version,
  });

async function fill(db: Database): Promise<void> {
  await db.transact((tx) => {
    for (const [id, day, total] of [
      ["a", "monday", 1],
      ["b", "monday", 2],
      ["c", "tuesday", 4],
    ] as const) {
      tx.set(orders.day, id, day);
      tx.set(orders.total, id, total);
    }
  });
}

describe("a backfill", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;

  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => folder.remove());

  test("derives the rows that are older than the derivation, once", async () => {
    {
      await using db = await open(folder.path, { tables: [orders] });
      await fill(db);
    }
    const first = revenueIn(1, 1);
    await using db = await open(folder.path, { tables: first.tables, observers: first.observers });
    await db.drain();
    await using before = await db.snapshot();
    expect(await gather(before.scan(first.table))).toEqual([]);
    expect(await first.backfill(db)).toBe(true);
    await db.drain();
    await using after = await db.snapshot();
    expect(await after.get(first.table.sum, ["monday"])).toBe(3);
    expect(await first.compare(after)).toEqual([]);
    expect(await first.backfill(db)).toBe(false);
    expect(await gather(db.pending())).toEqual([]);
  });

  test("derives everything again for a new version: other sums, longer lists, other groups", async () => {
    for (const [version, factor] of [
      [1, 1],
      [2, 1],
      [3, 10],
    ] as const) {
      const revenue = revenueIn(version, factor);
      await using db = await open(folder.path, {
        tables: [orders, ...revenue.tables],
        observers: revenue.observers,
      });
      if (version === 1) await fill(db);
      expect(await revenue.backfill(db)).toBe(true);
      await db.drain();
      await using snapshot = await db.snapshot();
      expect(await revenue.compare(snapshot)).toEqual([]);
      const key = version < 3 ? "monday" : "mon";
      expect(await snapshot.get(revenue.table.sum, [key])).toBe(3 * factor);
      expect(await snapshot.get(revenue.table.top, [key])).toHaveLength(Math.min(version, 2));
    }
  });

  test.each([
    ["an aggregate", (rest: Rest) => derive("gone", { from: orders, count: true, ...rest })],
    [
      "an index",
      (rest: Rest) => derive("gone", { from: orders, key: [text()], index: () => [["x"]], ...rest }),
    ],
    [
      "a left join",
      (rest: Rest) =>
        derive("gone", {
          from: orders,
          leftJoin: customers,
          on: () => undefined,
          columns: { name: text() },
          select: () => ({ name: "x" }),
          ...rest,
        }),
    ],
  ])("of %s removes the rows that have only a column that is no longer read", async (_, deriveIn) => {
    for (const version of [1, 2]) {
      const all = deriveIn({ version, reads: version === 1 ? ["day", "total"] : ["day"] });
      await using db = await open(folder.path, {
        tables: [orders, ...all.tables],
        observers: all.observers,
      });
      if (version === 1) {
        for (let n = 0; n < 101; n++) await db.transact((tx) => tx.set(orders.total, `order ${n}`, n));
        await db.transact((tx) => tx.set(orders.day, "order 100", "monday"));
      }
      await all.backfill(db);
      await db.drain();
      await using snapshot = await db.snapshot();
      expect(await all.compare(snapshot)).toEqual([]);
    }
  });

  test("of an older program changes nothing", async () => {
    const newer = revenueIn(2, 1);
    await using db = await open(folder.path, { tables: newer.tables, observers: newer.observers });
    await newer.backfill(db);
    expect(await revenueIn(1, 1).backfill(db)).toBe(false);
  });
});

test("the twin needs none of what the observers wrote, and the comparison finds each wrong row", async () => {
  const revenue = revenueIn(2, 1);
  await using db = await open("memory:", {
    tables: [orders, ...revenue.tables],
    observers: revenue.observers,
  });
  await fill(db);
  await using undrained = await db.snapshot();
  const missing = await revenue.compare(undrained);
  expect(missing.map(({ row, actual }) => [row, actual])).toEqual([
    ['["monday"]', undefined],
    ['["tuesday"]', undefined],
  ]);
  await db.drain();
  await using drained = await db.snapshot();
  expect(await gather(revenue.recompute(drained))).toEqual(await gather(drained.scan(revenue.table)));
  await db.transact((tx) => {
    tx.set(revenue.table.sum, ["monday"], 5);
    tx.delete(revenue.table.top, ["tuesday"]);
    tx.set(revenue.table.sum, ["sunday"], 0);
  });
  await using wrong = await db.snapshot();
  const found = await revenue.compare(wrong);
  expect(
    found.map(({ derivation, row, expected, actual }) => [derivation, row, expected?.sum, actual?.sum]),
  ).toEqual([
    ["revenue", '["monday"]', 3, 5],
    ["revenue", '["tuesday"]', 4, 4],
    ["revenue", '["sunday"]', undefined, 0],
  ]);
  expect(await revenue.compare(wrong, { limit: 1 })).toHaveLength(1);
  await expect(revenue.compare(wrong, { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
});

describe("a join", () => {
  const named = derive("named", {
    from: orders,
    join: customers,
    on: (order) => order.day,
    columns: { total: int(), name: text() },
    select: (order, customer) => ({ total: order.total, name: customer.name }),
  });
  const options = { tables: [orders, customers, ...named.tables], observers: named.observers };

  test("takes the values of renamed columns by their names in the program", async () => {
    const renamed = derive("renamed", {
      from: orders,
      leftJoin: customers,
      on: () => undefined,
      columns: { day: storedAs("weekday", text()) as unknown as Codec<string> },
      select: ({ day }) => ({ day }),
    });
    const { observers } = renamed;
    await using db = await open("memory:", { tables: [orders, ...renamed.tables], observers });
    await db.transact((tx) => tx.set(orders.day, "a", "monday"));
    await db.drain();
    await using snapshot = await db.snapshot();
    expect(await snapshot.row(renamed.table, "a")).toEqual({ day: "monday" });
  });

  test("changes every row of a right row, however many they are", async () => {
    await using db = await open("memory:", options);
    const ids = Array.from({ length: 2_500 }, (_, n) => `order ${n}`);
    for (let first = 0; first < ids.length; first += 500) {
      await db.transact((tx) => {
        for (const id of ids.slice(first, first + 500)) tx.set(orders.day, id, "x");
      });
    }
    await db.drain();
    for (const name of ["ann", "bob", undefined, "eve"]) {
      await db.transact((tx) =>
        name === undefined ? tx.delete(customers.name, "x") : tx.set(customers.name, "x", name),
      );
      await db.drain();
      await using snapshot = await db.snapshot();
      const names = (await gather(snapshot.scan(named.table.name))).map(({ value }) => value);
      expect(names).toEqual(name === undefined ? [] : ids.map(() => name));
    }
    await using snapshot = await db.snapshot();
    expect(await gather(snapshot.scan(named.tables[3]!))).toEqual([]);
  });

  test("reaches all rows of a right row that changes faster than they are notified", async () => {
    await using db = await open("memory:", options);
    const ids = Array.from({ length: 3_500 }, (_, n) => `order ${n}`);
    for (let first = 0; first < ids.length; first += 500) {
      await db.transact((tx) => {
        for (const id of ids.slice(first, first + 500)) tx.set(orders.day, id, "x");
      });
    }
    await db.drain();
    const of = (name: string) => named.observers.find((each) => each.name === name)!;
    const changed = (name: string) =>
      db.transact(async (tx) => {
        tx.set(customers.name, "x", name);
        await of("named-right-name").run(tx, { row: "x" } as never);
      });
    const goOn = () => db.transact((tx) => of("named-right").run(tx, { row: ["x", 0] } as never));
    for (let n = 0; n < 6; n++) {
      await changed(`${n}`);
      await goOn();
    }
    const due = new Set<unknown>();
    for await (const { observer, row } of db.pending()) if (observer === "named") due.add(row);
    expect(due.size).toBe(ids.length);
    await db.drain();
    await using snapshot = await db.snapshot();
    const names = (await gather(snapshot.scan(named.table.name))).map(({ value }) => value);
    expect(names).toEqual(ids.map(() => "5"));
    expect(await gather(snapshot.scan(named.tables[3]!))).toEqual([]);
  });

  test("leaves nothing behind of a left row that joined another one, or is gone", async () => {
    await using db = await open("memory:", options);
    await db.transact((tx) => tx.set(customers.name, "x", "ann"));
    for (const day of ["x", "y", undefined]) {
      await db.transact((tx) =>
        day === undefined ? tx.delete(orders.day, "a") : tx.set(orders.day, "a", day),
      );
      await db.drain();
      await using snapshot = await db.snapshot();
      const rows = await Promise.all(named.tables.map((each) => gather(snapshot.scan(each))));
      // The result, the record of the left row, and its link.
      expect(rows.slice(0, 3).map(({ length }) => length)).toEqual(
        day === "x" ? [1, 1, 1] : day === "y" ? [0, 1, 1] : [0, 0, 0],
      );
    }
  });

  test("does not overlook a right row that changes while a left row joins it", async () => {
    await using db = await open("memory:", options);
    await db.transact((tx) => tx.set(customers.name, "x", "ann"));
    await db.drain();
    await db.transact((tx) => tx.set(orders.day, "a", "x"));
    const joining = named.observers.find(({ name }) => name === "named-left-day")!;
    const early = await db.begin({ isolation: joining.isolation });
    await joining.run(early, { row: "a" } as never);
    await db.transact((tx) => tx.set(customers.name, "x", "bob"));
    const changing = named.observers.find(({ name }) => name === "named-right-name")!;
    // There is no link yet, so this run finds no left row to notify.
    await db.transact((tx) => changing.run(tx, { row: "x" } as never));
    await expect(early.commit()).rejects.toMatchObject({ code: "CONFLICT" });
    await db.drain();
    await using snapshot = await db.snapshot();
    expect(await snapshot.get(named.table.name, "a")).toBe("bob");
  });
});

test("a join runs for the columns that it reads, with the options of its observers", async () => {
  const people = table("people", { name: text(), seen: int() });
  const named = derive("named", {
    from: orders,
    leftJoin: people,
    reads: ["day"],
    rightReads: ["name"],
    on: (order) => order.day,
    columns: { name: text() },
    select: (_order, person) => ({ name: person?.name ?? "nobody" }),
    observer: { attempts: 7 },
  });
  expect(named.observers.map(({ name, attempts }) => `${name} ${attempts}`)).toEqual([
    "named-left-day 7",
    "named 7",
    "named-right-name 7",
    "named-right 7",
  ]);
  await using db = await open("memory:", { tables: [orders, people], derivations: [named] });
  await db.transact((tx) => {
    tx.set(orders.day, "a", "x");
    tx.set(orders.total, "b", 5); // no row, since it has no column that is read
    tx.set(people.seen, "x", 1);
  });
  await db.drain();
  await using before = await db.snapshot();
  expect(await gather(before.scan(named.table.name))).toEqual([{ row: "a", value: "nobody" }]);
  expect(await named.compare(before)).toEqual([]);

  await db.transact((tx) => tx.set(people.name, "x", "ann"));
  await db.drain();
  await using after = await db.snapshot();
  expect(await gather(after.scan(named.table.name))).toEqual([{ row: "a", value: "ann" }]);
});

test("an index finds the rows by every part, and forgets what a row no longer has", async () => {
  const places = table("places", { city: text(), street: text() });
  const index = derive("places_index", {
    from: places,
    key: [text(), text()],
    index: function* ({ city, street }) {
      if (city !== undefined && street !== undefined) yield [city, street] as const;
    },
  });
  await using db = await open("memory:", { tables: [places, ...index.tables], observers: index.observers });
  await db.transact((tx) => {
    for (const [id, city, street] of [
      ["a", "Oslo", "Gata"],
      ["b", "Oslo", "Alléen"],
      ["c", "Bergen", "Gata"],
    ] as const) {
      tx.set(places.city, id, city);
      tx.set(places.street, id, street);
    }
  });
  const found = async (...term: [string] | [string, string]) => {
    await db.drain();
    await using snapshot = await db.snapshot();
    return await gather(index.find(snapshot, term));
  };
  expect(await found("Oslo")).toEqual(["b", "a"]);
  expect(await found("Oslo", "Gata")).toEqual(["a"]);
  await db.transact((tx) => tx.set(places.city, "a", "Bergen"));
  expect(await found("Oslo")).toEqual(["b"]);
  expect(await found("Bergen", "Gata")).toEqual(["a", "c"]);
  await db.transact((tx) => tx.deleteRow(places, "c"));
  expect(await found("Bergen")).toEqual(["a"]);
});

test.each([
  ["few columns", { group: text() }],
  ["a family", { group: text(), tags: family(text()) }],
  ["five columns", { group: text(), b: int(), c: int(), d: int(), e: int() }],
])("a row that has only columns of other programs is no row of a table with %s", async (_, columns) => {
  const items = table("items", columns);
  /** The same table in an older program, or in a newer one. */
  const other = table("items", { ...columns, elsewhere: text() });
  const counts = derive("counts", { from: items, count: true });
  await using db = await open("memory:", { tables: [items], derivations: [counts] });
  const count = () => db.transact((tx) => tx.get(counts.table.count, "all"));
  await db.transact((tx) => {
    tx.set(other.group, "row", "g");
    tx.set(other.elsewhere, "row", "x");
  });
  await db.drain();
  expect(await count()).toBe(1);
  await db.transact((tx) => tx.delete(items.group, "row"));
  await db.drain();
  expect(await count()).toBe(undefined);
  await db.transact((tx) => tx.set(other.elsewhere, "unseen", "x"));
  await using snapshot = await db.snapshot();
  expect(await counts.compare(snapshot)).toEqual([]);
});

test("a table of more columns than share their runs is derived from", async () => {
  const names = Array.from({ length: 120 }, (_, column) => `c${column}`);
  const wide = table("wide", Object.fromEntries(names.map((name) => [name, int()])));
  const total = derive("wide-total", {
    from: wide,
    key: [text()],
    groupBy: () => ["all"] as const,
    sum: (row) => (row.c0 ?? 0) + (row.c119 ?? 0),
  });
  await using db = await open("memory:", { tables: [wide], derivations: [total] });
  let runs = 0;
  db.on("run", () => runs++);
  await db.transact((tx) => {
    for (const name of names) tx.set(wide[name]!, "r", 1);
  });
  await db.drain();
  expect(await db.transact((tx) => tx.get(total.table.sum, ["all"]))).toBe(2);
  expect(runs).toBeLessThan(10);
});
