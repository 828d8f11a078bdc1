import fc from "fast-check";
import {
  boolean,
  bytes,
  type Database,
  family,
  float,
  int,
  open,
  type Table,
  table,
  text,
  tuple,
} from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { describe, expect, test } from "vitest";
import { parseCellValue } from "../../src/cli/database/value-text.js";
import { parseCellRow, parsePrefix, showRow } from "../../src/cli/input/key-text.js";
import { definition, formatValue, type KeyCodec } from "../../src/schema/index.js";
import { codeOf, gather } from "./model/perform.js";
import { runs } from "./support/runs.js";

/**
 * Characters of one to four bytes in UTF-8. Among them are characters that keys escape, and
 * characters that sort differently in UTF-16.
 */
const letters = fc.constantFrom(
  "\0",
  "\x01",
  "\x02",
  "a",
  "b",
  "\x7f",
  "é",
  "\uD7FF",
  "\uE000",
  "\uFF61",
  "\uFFFD",
  "😀",
);
const word = fc.string({ unit: letters, maxLength: 4 });
const blob = fc
  .array(fc.constantFrom(0, 1, 2, 254, 255), { maxLength: 4 })
  .map((list) => Uint8Array.from(list));
const whole = fc.oneof(fc.integer({ min: -300, max: 300 }), fc.maxSafeInteger());
const number = fc.oneof(
  fc.double({ noNaN: true }),
  fc.constantFrom(0, -0, 5e-324, -5e-324, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
);

type Key = readonly unknown[];

const compareBytes = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b);
const compareText = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const compareNumber = (a: number, b: number) =>
  a === b ? Number(Object.is(b, -0)) - Number(Object.is(a, -0)) : a < b ? -1 : 1;

const kinds = {
  text: { part: text(), values: word, compare: compareText },
  bytes: { part: bytes(), values: blob, compare: compareBytes },
  int: { part: int(), values: whole, compare: compareNumber },
  float: { part: float(), values: number, compare: compareNumber },
  boolean: {
    part: boolean(),
    values: fc.boolean(),
    compare: (a: boolean, b: boolean) => Number(a) - Number(b),
  },
} as const;

type KindName = keyof typeof kinds;
const names = Object.keys(kinds) as KindName[];

interface Shape {
  readonly names: readonly KindName[];
  readonly keys: readonly Key[];
  readonly prefix: Key | undefined;
  readonly start: Key | undefined;
  readonly end: Key | undefined;
  readonly after: Key | undefined;
  readonly reverse: boolean;
  readonly limit: number | undefined;
}

/** A key type, keys of it that often have common prefixes, and a scan. */
const shapes: fc.Arbitrary<Shape> = fc
  .array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })
  .chain((chosen) => {
    const part = (name: KindName) =>
      fc.array(kinds[name].values as fc.Arbitrary<unknown>, { minLength: 1, maxLength: 4 });
    return fc.tuple(...chosen.map(part)).chain((pools) => {
      const key = fc.tuple(...pools.map((pool) => fc.constantFrom(...pool)));
      const maybe = fc.option(key, { nil: undefined });
      const prefix = fc
        .tuple(maybe, fc.nat({ max: chosen.length }))
        .map(([parts, length]) => parts?.slice(0, length));
      return fc.record({
        names: fc.constant(chosen),
        keys: fc.array(key, { minLength: 1, maxLength: 12 }),
        prefix,
        start: maybe,
        end: maybe,
        after: maybe,
        reverse: fc.boolean(),
        limit: fc.option(fc.nat({ max: 5 }), { nil: undefined }),
      });
    });
  });

function compareKeys(shape: readonly KindName[], a: Key, b: Key): number {
  for (const [i, name] of shape.entries()) {
    if (i >= a.length || i >= b.length) break;
    const order = (kinds[name].compare as (a: unknown, b: unknown) => number)(a[i], b[i]);
    if (order !== 0) return Math.sign(order);
  }
  return 0;
}

const keyOf = (shape: readonly KindName[]) =>
  tuple(
    ...(shape.map((name) => kinds[name].part) as [(typeof kinds)["text"]["part"]]),
  ) as unknown as KeyCodec<Key>;

async function fresh<T>(use: (db: Database) => Promise<T>): Promise<T> {
  await using db = await open(memoryStore({ pageCells: 3 }), { collectEveryMs: 0 });
  return await use(db);
}

describe("scans of composite keys", () => {
  test("equal a filter of the sorted keys, for any prefix, start, end, place to begin behind, direction and limit", async () => {
    const property = fc.asyncProperty(shapes, (shape) =>
      fresh(async (db) => {
        const rows = table("rows", { at: int() }, { key: keyOf(shape.names) });
        await db.transact((tx) => {
          for (const [index, key] of shape.keys.entries()) tx.set(rows.at, key, index);
        });
        const { names: of, prefix, start, end, after, reverse, limit } = shape;
        const distinct = shape.keys.filter(
          (key, index) => shape.keys.findLastIndex((other) => compareKeys(of, key, other) === 0) === index,
        );
        const sorted = distinct
          .filter((key) => prefix === undefined || compareKeys(of, key, prefix) === 0)
          .filter((key) => start === undefined || compareKeys(of, key, start) >= 0)
          .filter((key) => end === undefined || compareKeys(of, key, end) < 0)
          .filter((key) => after === undefined || compareKeys(of, key, after) === (reverse ? -1 : 1))
          .sort((a, b) => compareKeys(of, a, b));
        if (reverse) sorted.reverse();
        await using snapshot = await db.snapshot();
        const options = { prefix, start, end, after, reverse, limit } as never;
        const found = await gather(snapshot.scan(rows.at, options));
        const expected = sorted.slice(0, limit).map((key) => ({
          row: key.map((part, index) => (of[index] === "int" && part === 0 ? 0 : part)),
          value: shape.keys.indexOf(key),
        }));
        expect(found).toStrictEqual(expected);
      }),
    );
    await fc.assert(property, runs(150));
  });
});

describe("the text form of keys in commands", () => {
  test("parses back to every key and every prefix", () => {
    fc.assert(
      fc.property(shapes, ({ names: of, keys, prefix }) => {
        const key = keyOf(of);
        const rows = table("rows", { at: int() }, { key })[definition];
        for (const each of keys) {
          const shown = showRow(rows, each);
          expect(Buffer.compare(key.encode(key.parse(shown)), key.encode(each))).toBe(0);
        }
        if (prefix === undefined || prefix.length === 0) return;
        const leading = keyOf(of.slice(0, prefix.length)).format(prefix);
        expect(Buffer.compare(key.prefix(parsePrefix(rows, leading)), key.prefix(prefix))).toBe(0);
      }),
      runs(300),
    );
  });

  test.each(names)("parses back to every value of %s", (name) => {
    const values = table("values", { at: kinds[name].part as never });
    const column = (values as unknown as Table<{ at: (typeof kinds)["text"]["part"] }>).at;
    fc.assert(
      fc.property(kinds[name].values as fc.Arbitrary<unknown>, (value) => {
        const back = parseCellValue(column as never, "row", formatValue(kinds[name].part, value));
        expect(back).toStrictEqual(name === "int" && value === 0 ? 0 : value);
      }),
      runs(200),
    );
  });

  test("is refused or gives a key, whatever a person types", () => {
    const typed = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.json(),
      fc.constantFrom("[]", "[1]", '["a"', "\ud800"),
    );
    const column = table("rows", { at: int() }, { key: tuple(text(), int()) }).at as never;
    fc.assert(
      fc.property(typed, (given) => {
        try {
          const row = parseCellRow(column, given) as Key;
          expect(parseCellRow(column, showRow((column as { table: never }).table, row))).toStrictEqual(row);
        } catch (error) {
          expect((error as Error).name).toBe("UsageError");
        }
      }),
      runs(100),
    );
  });
});

describe("keys that are too long", () => {
  const limited = table("limited", { at: int(), more: family(text()) });

  test("get a named error, row and qualifier together, before anything is changed", async () => {
    const lengths = fc.record({
      row: fc.integer({ min: 0, max: 1_600 }),
      nuls: fc.integer({ min: 0, max: 900 }),
      qualifier: fc.oneof(fc.constant(undefined), fc.integer({ min: 0, max: 1_600 })),
    });
    await fresh(async (db) => {
      const property = fc.asyncProperty(lengths, async ({ row: length, nuls, qualifier }) => {
        const row = "\0".repeat(nuls) + "r".repeat(length);
        const cost = length + 2 * nuls + (qualifier ?? 0);
        const set = (tx: Parameters<Parameters<Database["transact"]>[0]>[0]) =>
          qualifier === undefined
            ? tx.set(limited.at, row, 1)
            : tx.set(limited.more.at("q".repeat(qualifier)), row, "x");
        const tx = await db.begin();
        tx.set(limited.at, "kept", 1);
        const code = await codeOf(() => set(tx));
        expect(code).toBe(cost > 1_500 ? "INVALID_KEY" : undefined);
        await tx.rollback();
        if (code === undefined) {
          await db.transact(set);
          await db.transact((again) => again.deleteRow(limited, row));
        }
      });
      await fc.assert(property, runs(60));
      await using snapshot = await db.snapshot();
      expect(await gather(snapshot.scan(limited))).toEqual([]);
      expect(await db.check()).toEqual([]);
    });
  });
});
