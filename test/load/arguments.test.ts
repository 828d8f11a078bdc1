import { family, float, int, loadPart, open, table, text, tuple } from "percolatordb";
import { attach } from "percolatordb/postgres";
import { describe, expect, test } from "vitest";

const pages = table("pages", { html: text(), size: int(), anchors: family(text()) });
const others = table("others", { html: text() });
const orders = attach("shop.orders", { key: tuple(int()), columns: { total: float() } });

/** The rows with these keys, all with one value. */
const rows = (keys: readonly unknown[], value: unknown = { html: "x" }) =>
  loadPart(pages, (() => keys.map((row) => ({ row, value }))) as never);
const returning = (given: unknown) => loadPart(pages, (() => given) as never);

interface Wrong {
  readonly what: string;
  readonly parts: unknown;
  readonly code: string;
  readonly message: string;
}

const wrong: readonly Wrong[] = [
  { what: "no array", parts: rows(["a"]), code: "INVALID_ARGUMENT", message: "takes an array of parts" },
  { what: "no parts", parts: [], code: "INVALID_ARGUMENT", message: "not an array of 0" },
  { what: "a table as a part", parts: [pages], code: "INVALID_ARGUMENT", message: "takes an array of parts" },
  {
    what: "a part and something else",
    parts: [rows(["a"]), undefined],
    code: "INVALID_ARGUMENT",
    message: "not an array with undefined",
  },
  {
    what: "a part of an attached SQL table",
    parts: [rows(["a"]), loadPart(orders, () => [])],
    code: "SCHEMA",
    message: "Table orders is read-only",
  },
  {
    what: "two parts with a row in common",
    parts: [loadPart(pages, () => [], { end: "m" }), loadPart(pages, () => [], { start: "l" })],
    code: "INVALID_ARGUMENT",
    message: 'Two parts of `db.load` have rows of "pages" in common',
  },
  {
    what: "an empty range",
    parts: [loadPart(pages, () => [], { start: "m", end: "a" })],
    code: "INVALID_ARGUMENT",
    message: 'an empty range of "pages"',
  },
  {
    what: "rows that cannot be iterated",
    parts: [returning(5)],
    code: "INVALID_ARGUMENT",
    message: 'for "pages" must return an iterable or an async iterable of rows, not 5',
  },
  { what: "a text as rows", parts: [returning("ab")], code: "INVALID_ARGUMENT", message: 'not "ab"' },
  {
    what: "no rows at all",
    parts: [returning(undefined)],
    code: "INVALID_ARGUMENT",
    message: "not undefined",
  },
  {
    what: "a row that is no object",
    parts: [returning([undefined])],
    code: "INVALID_VALUE",
    message: 'takes the rows of "pages" as `{ row, value }`, not undefined',
  },
  {
    what: "a row without a value",
    parts: [returning([{ row: "a" }])],
    code: "INVALID_VALUE",
    message: "`value`",
  },
  { what: "a key of another type", parts: [rows([7])], code: "INVALID_KEY", message: "pages" },
  {
    what: "rows out of order",
    parts: [rows(["b", "a"])],
    code: "INVALID_KEY",
    message: "call `db.discardLoad`, and load again",
  },
  { what: "a row twice", parts: [rows(["b", "b"])], code: "INVALID_KEY", message: "ascending key order" },
  {
    what: "a row outside its range",
    parts: [loadPart(pages, () => [{ row: "z", value: { html: "x" } }], { end: "m" })],
    code: "INVALID_KEY",
    message: "outside the range",
  },
  {
    what: "an unknown column",
    parts: [rows(["a"], { title: "x" })],
    code: "INVALID_VALUE",
    message: '"title", which is no column of the table',
  },
  {
    what: "a value of another type",
    parts: [rows(["a"], { html: 3 })],
    code: "INVALID_VALUE",
    message: "pages.html",
  },
  {
    what: "a family that is no Map",
    parts: [rows(["a"], { anchors: { b: "x" } })],
    code: "INVALID_VALUE",
    message: "as a Map from qualifiers to values",
  },
];

describe("db.load refuses", () => {
  test.each(wrong)("$what, and loads nothing", async ({ parts, code, message }) => {
    await using db = await open("memory:", { tables: [pages, others] });
    const error = await db.load("first", parts as never).then(
      () => expect.unreachable(),
      (thrown: Error) => thrown,
    );
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
    await using snapshot = await db.snapshot();
    for await (const { row } of snapshot.scan(pages)) expect.unreachable(row);
    // Unfinished loads can be discarded, and then the right rows can be loaded.
    for (const { name } of await db.loads()) await db.discardLoad(name);
    expect((await db.load("second", [rows(["a", "b"])])).rows).toBe(2);
  });

  test("other parts under the name of a load", async () => {
    await using db = await open("memory:", { tables: [pages, others] });
    await db.load("first", [rows(["a"])]);
    const other = loadPart(others, () => [{ row: "a", value: { html: "x" } }]);
    await expect(db.load("first", [other])).rejects.toMatchObject({ code: "LOAD" });
  });

  test("names that cannot be recorded", async () => {
    await using db = await open("memory:", { tables: [pages, others] });
    for (const name of ["", "a b", "a/b", 5]) {
      await expect(db.load(name as string, [rows(["a"])])).rejects.toMatchObject({ code: "SCHEMA" });
    }
    expect(await db.loads()).toEqual([]);
  });
});
