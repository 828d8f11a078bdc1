import { type Column, family, int, json, type KeyOf, type Snapshot, table, text, tuple } from "percolatordb";
import { derive, type TopEntry } from "percolatordb/recipes";
import { describe, expectTypeOf, it } from "vitest";

const orders = table(
  "orders",
  { day: text(), total: int(), customer: text(), notes: family(text()) },
  { key: tuple(text(), int()) },
);
const customers = table("customers", { name: text(), tags: json<readonly string[]>() });

declare const snapshot: Snapshot;

describe("derive", () => {
  it("types a row by the source's columns, and its key", () => {
    derive("x", {
      from: orders,
      sum: (order, key) => {
        expectTypeOf(order.day).toEqualTypeOf<string | undefined>();
        expectTypeOf(order.total).toEqualTypeOf<number | undefined>();
        expectTypeOf(order.notes).toEqualTypeOf<ReadonlyMap<string, string>>();
        expectTypeOf(key).toEqualTypeOf<readonly [string, number]>();
        return order.total;
      },
    });
    // @ts-expect-error no such column
    derive("x", { from: orders, sum: (order) => order.totl });
    // @ts-expect-error not one of `reads`
    derive("x", { from: orders, reads: ["day"], sum: (order) => order.total });
    // @ts-expect-error no such column
    derive("x", { from: orders, reads: ["dya"], count: true });
    derive("x", { from: orders, reads: ["day", "total"], sum: (order) => order.total });
  });

  it("types the result's columns by what is asked, and its key by the parts of `key`", () => {
    const all = derive("x", {
      from: orders,
      key: [text(), int()],
      groupBy: (order) => [order.day, order.total],
      count: true,
      sum: (order) => order.total,
      min: (order) => order.total,
      max: (order) => order.customer,
      top: { n: 3, by: (order) => order.total },
    });
    type Key = readonly [string, number];
    expectTypeOf(all.table.count).toEqualTypeOf<Column<number, Key>>();
    expectTypeOf(all.table.sum).toEqualTypeOf<Column<number, Key>>();
    expectTypeOf(all.table.min).toEqualTypeOf<Column<number, Key>>();
    expectTypeOf(all.table.max).toEqualTypeOf<Column<string, Key>>();
    expectTypeOf(all.table.top).toEqualTypeOf<Column<readonly TopEntry<number>[], Key>>();
    expectTypeOf(snapshot.get(all.table.sum, ["monday", 1])).toEqualTypeOf<Promise<number | undefined>>();
    // @ts-expect-error the key has two parts
    void snapshot.get(all.table.sum, ["monday"]);
  });

  it("has only the columns that were asked for", () => {
    const counted = derive("x", { from: orders, count: true });
    expectTypeOf(counted.table.count).toEqualTypeOf<Column<number, string>>();
    // @ts-expect-error no sum was asked for
    counted.table.sum;
    const summed = derive("x", { from: orders, sum: () => 1 });
    // @ts-expect-error no count was asked for
    summed.table.count;
  });

  it("refuses functions that return something else", () => {
    // @ts-expect-error a sum is a number
    derive("x", { from: orders, sum: (order) => order.day });
    // @ts-expect-error a least value is a number or a string
    derive("x", { from: orders, min: (order) => order.notes });
    // @ts-expect-error the key's part is a number
    derive("x", { from: orders, key: [int()], groupBy: (order) => [order.day], count: true });
    // @ts-expect-error the key has two parts
    derive("x", { from: orders, key: [text(), text()], groupBy: (order) => [order.day], count: true });
    // @ts-expect-error a promise is not a number
    derive("x", { from: orders, sum: async (order) => order.total });
  });

  it("types a derivation of a derived table", () => {
    const days = derive("x", { from: orders, key: [text()], groupBy: (order) => [order.day], count: true });
    const sizes = derive("y", {
      from: days.table,
      key: [int()],
      groupBy: (day, key) => {
        expectTypeOf(key).toEqualTypeOf<readonly [string]>();
        return [day.count];
      },
      count: true,
    });
    expectTypeOf(sizes.table.count).toEqualTypeOf<Column<number, readonly [number]>>();
  });

  it("types both rows of a join, and the result by its columns and the left key", () => {
    const named = derive("x", {
      from: orders,
      join: customers,
      on: (order) => order.customer,
      columns: { total: int(), name: text() },
      select: (order, customer, key) => {
        expectTypeOf(customer.name).toEqualTypeOf<string | undefined>();
        expectTypeOf(key).toEqualTypeOf<readonly [string, number]>();
        return { total: order.total, name: customer.name };
      },
    });
    expectTypeOf(named.table.name).toEqualTypeOf<Column<string, readonly [string, number]>>();
    derive("x", {
      from: orders,
      leftJoin: customers,
      on: (order) => order.customer,
      columns: { name: text() },
      // @ts-expect-error there may be no right row
      select: (_order, customer) => ({ name: customer.name }),
    });
    derive("x", {
      from: orders,
      // @ts-expect-error the key of a customer is a string, but `on` returns a number
      join: customers,
      on: (order) => order.total,
      columns: { name: text() },
      select: (_order, customer) => ({ name: customer.name }),
    });
    derive("x", {
      from: orders,
      // @ts-expect-error a name is text, but `select` returns a number
      join: customers,
      on: (order) => order.customer,
      columns: { name: text() },
      select: (order) => ({ name: order.total }),
    });
  });

  it("takes a composite key from `on` as it is written", () => {
    const joined = derive("x", {
      from: customers,
      join: orders,
      on: ({ name }, id) => (name === undefined ? undefined : [id, 5]),
      columns: { total: int() },
      select: (_customer, order) => ({ total: order.total }),
    });
    expectTypeOf(joined.table.total).toEqualTypeOf<Column<number, string>>();
    derive("x", {
      from: customers,
      leftJoin: orders,
      on: (_customer, id) => [id, 5],
      columns: { total: int() },
      select: (_customer, order) => ({ total: order?.total }),
    });
    derive("x", {
      from: customers,
      // @ts-expect-error the key of an order has a text and a number
      join: orders,
      on: (_customer, id) => [id, "5"],
      columns: { total: int() },
      select: (_customer, order) => ({ total: order.total }),
    });
  });

  it("types the rows of a join by the columns that it reads", () => {
    derive("x", {
      from: orders,
      join: customers,
      reads: ["customer"],
      rightReads: ["name"],
      on: (order) => order.customer,
      columns: { name: text() },
      select: (order, customer) => {
        expectTypeOf(order).toEqualTypeOf<{ readonly customer?: string }>();
        return { name: customer.name };
      },
    });
    derive("x", {
      from: orders,
      join: customers,
      rightReads: ["name"],
      on: (order) => order.customer,
      columns: { count: int() },
      // @ts-expect-error not one of `rightReads`
      select: (_order, customer) => ({ count: customer.tags?.length }),
    });
  });

  it("types an index by the parts of its terms", () => {
    const tags = derive("x", {
      from: customers,
      key: [text()],
      index: (c) => (c.tags ?? []).map((tag) => [tag]),
    });
    expectTypeOf(tags.find(snapshot, ["a"])).toEqualTypeOf<AsyncGenerator<string, void, undefined>>();
    // @ts-expect-error a term is text
    tags.find(snapshot, [5]);
    const byTotal = derive("y", {
      from: orders,
      key: [text(), int()],
      index: ({ day, total }) => (day === undefined || total === undefined ? [] : [[day, total] as const]),
    });
    expectTypeOf(byTotal.find(snapshot, ["a"])).toEqualTypeOf<
      AsyncGenerator<readonly [string, number], void, undefined>
    >();
    expectTypeOf<KeyOf<typeof tags.table>>().toEqualTypeOf<readonly [string, string]>();
    expectTypeOf<KeyOf<typeof byTotal.table>>().toEqualTypeOf<readonly [string, number, string, number]>();
    // @ts-expect-error the first part is text
    derive("x", { from: customers, key: [text()], index: () => [[5]] });
  });
});
