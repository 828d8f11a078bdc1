import { bytes, int, open, table, text } from "percolatordb";
import { describe, expect, test } from "vitest";
import { gather } from "../../../test/support/gather.js";
import { derive } from "../index.js";

const orders = table("orders", { day: text(), total: int(), image: bytes() });
const customers = table("customers", { name: text() });
const at = 'Derivation "revenue"';
const run = () => undefined;

/** As a program without types calls it. */
const make = derive as unknown as (name: string, options: object) => ReturnType<typeof revenueOf>;
const revenueOf = () => derive("revenue", { from: orders, count: true });

describe("a declaration is refused", () => {
  test.each<readonly [string, object, string]>([
    ["no table", { from: {}, count: true }, "`from` must be a table"],
    ["null for a table", { from: null, count: true }, "`from` must be a table"],
    ["an unknown column", { from: orders, reads: ["dya"], count: true }, "table orders has no such column"],
    ["no columns", { from: orders, reads: [], count: true }, "at least one column of orders"],
    ["a column twice", { from: orders, reads: ["day", "day"], count: true }, "each once"],
    ["groupBy without a key", { from: orders, groupBy: run, count: true }, "both `groupBy` and `key`"],
    ["a key without groupBy", { from: orders, key: [text()], count: true }, "both `groupBy` and `key`"],
    ["nothing to derive", { from: orders }, "asks for nothing"],
    ["an unknown option", { from: orders, cuont: true }, "has no option `cuont`"],
    ["a sum that is no function", { from: orders, sum: 5 }, "`sum` of `derive` must be a function"],
    ["a count that is no boolean", { from: orders, count: "yes" }, "`count` must be true or false"],
    ["a list of nothing", { from: orders, top: { n: 0, by: run } }, "`top.n` must be a whole number"],
    ["an unknown option of top", { from: orders, top: { n: 1, of: run } }, "`top` has no option `of`"],
    ["too few shards", { from: orders, count: true, shards: 0 }, "`shards` must be a whole number"],
    ["a version of 0", { from: orders, count: true, version: 0 }, "`version` must be a whole number"],
    ["a part without an order", { from: orders, key: [{}], groupBy: run, count: true }, "Part 1 of a key"],
    ["an index without terms", { from: orders, key: [text()], index: 5 }, "`index` of `derive` must be"],
    [
      "two joins",
      { from: orders, join: customers, leftJoin: customers, on: run, select: run, columns: { name: text() } },
      "takes `join` or `leftJoin`, not both",
    ],
    [
      "a join without a table",
      { from: orders, join: 5, on: run, select: run, columns: { name: text() } },
      "`join` must be a table",
    ],
    [
      "a join that reads an unknown column",
      {
        from: orders,
        join: customers,
        rightReads: ["nmae"],
        on: run,
        select: run,
        columns: { name: text() },
      },
      "table customers has no such column",
    ],
    ["a join without select", { from: orders, join: customers, on: run }, "`select` of `derive` must be"],
  ])("%s", (_, options, message) => {
    expect(() => make("revenue", options)).toThrow(message);
  });

  test("two derivations of one name", async () => {
    const [one, other] = [revenueOf(), revenueOf()];
    const opening = open("memory:", { observers: [...one.observers, ...other.observers] });
    await expect(opening).rejects.toThrow('Two observers are named "revenue-day"');
  });

  test("a derivation whose table differs from the one that is stored", async () => {
    const grouped = derive("revenue", { from: orders, key: [int()], groupBy: (o) => [o.total], count: true });
    const tables = [...revenueOf().tables, ...grouped.tables];
    await expect(open("memory:", { tables })).rejects.toThrow("revenue contradicts its record");
  });
});

describe("a row is parked, and the others go on, if", () => {
  const group = { key: [text()], groupBy: (order: { day?: string }) => [order.day] };
  const join = { join: customers, columns: { name: text() } };

  test.each<readonly [string, object, string]>([
    ["sum returns text", { sum: bad("5", 5) }, "`sum` must return a finite number, or undefined"],
    ["sum returns NaN", { sum: bad(Number.NaN, 5) }, "not NaN"],
    ["sum returns null", { sum: bad(null, 5) }, "not null"],
    ["sum returns a promise", { sum: bad(Promise.resolve(5), 5) }, "not object"],
    ["min returns an object", { min: bad({}, 5) }, "`min` must return a finite number or a string"],
    ["max returns infinity", { max: bad(Number.POSITIVE_INFINITY, 5) }, "not Infinity"],
    [
      "top returns a boolean",
      { top: { n: 1, by: bad(true, 5) } },
      "`top` must return a finite number or a string",
    ],
    [
      "groupBy returns a wrong part",
      { ...group, groupBy: bad([5], ["x"]), count: true },
      "does not fit `key`",
    ],
    ["groupBy returns no array", { ...group, groupBy: bad("x", ["x"]), count: true }, "does not fit `key`"],
    ["groupBy throws", { ...group, groupBy: throwing(["x"]), count: true }, "Oh no."],
    ["a function reads an unknown column", { sum: misreading }, "a function reads orders.totl"],
    [
      "index returns a wrong term",
      { key: [text()], index: bad([[5]], [["x"]]) },
      "`index` must return an iterable",
    ],
    [
      "index returns nothing",
      { key: [text()], index: bad(undefined, []) },
      "`index` must return an iterable",
    ],
    ["on returns a number", { ...join, on: bad(5, "x"), select: run }, "`on` returned no key of customers"],
    [
      "select returns text",
      { ...join, on: () => "x", select: bad("x", {}) },
      "`select` must return an object",
    ],
    [
      "select returns an unknown column",
      { ...join, on: () => "x", select: bad({ nmae: "x" }, {}) },
      "`select` returned a column nmae, but `columns` has name",
    ],
    [
      "select returns a wrong value",
      { ...join, on: () => "x", select: bad({ name: 5 }, {}) },
      "expected a string, not 5",
    ],
  ])("%s", async (_, options, message) => {
    const revenue = make("revenue", { from: orders, ...options, observer: { attempts: 1 } });
    await using db = await open("memory:", {
      tables: [orders, customers, ...revenue.tables],
      observers: revenue.observers,
    });
    await db.transact((tx) => {
      tx.set(customers.name, "x", "ann");
      for (const id of ["bad", "good"]) tx.set(orders.total, id, 1);
    });
    await db.drain();
    const parked = await gather(db.parked());
    expect(parked.map(({ row }) => row)).toEqual(["bad"]);
    expect(parked[0]!.error.message).toContain(message);
    if (!message.includes("Oh no.") && !message.includes("a string, not 5")) {
      expect(parked[0]!.error.message).toContain(at);
    }
    await using snapshot = await db.snapshot();
    const [failed, ...others] = await revenue.compare(snapshot);
    expect(failed).toMatchObject({ row: "bad", expected: undefined, actual: undefined });
    expect((failed!.error as Error).message).toContain(message);
    expect(others).toEqual([]);
  });

  function bad(wrong: unknown, right: unknown) {
    return (...parts: unknown[]) => (parts.at(-1) === "bad" ? wrong : right);
  }

  function throwing(right: unknown) {
    return (_: unknown, key: string) => {
      if (key === "bad") throw new Error("Oh no.");
      return right;
    };
  }

  function misreading(order: { total?: number; totl?: number }, key: string) {
    return key === "bad" ? order.totl : order.total;
  }
});
