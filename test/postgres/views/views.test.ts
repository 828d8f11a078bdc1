import fc from "fast-check";
import {
  bigint,
  boolean,
  bytes,
  codec,
  compressed,
  type Database,
  date,
  family,
  float,
  int,
  json,
  loadPart,
  oneOf,
  open,
  signal,
  table,
  text,
  tuple,
} from "percolatordb";
import { postgresViews } from "percolatordb/postgres";
import { Pool } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newPlace, type PostgresPlace, removePlace } from "../../support/postgres/index.js";

let place: PostgresPlace;
let pool: Pool;
let schema: string;

beforeEach(async () => {
  place = await newPlace();
  schema = `${place.schema}_views`;
  pool = new Pool({ host: place.host, user: "postgres", database: "postgres", max: 4 });
});

afterEach(async () => {
  await pool.query(`drop schema if exists ${quoted(schema)} cascade`);
  await pool.end();
  await removePlace(place);
});

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const view = (name: string) => `${quoted(schema)}.${quoted(name)}`;
const select = async (query: string, values: readonly unknown[] = []) =>
  (await pool.query(query, [...values])).rows;

/** JSON as JSONB holds it: NUL and lone surrogates become U+FFFD. */
const held = (value: string) => Buffer.from(value).toString().replaceAll("\0", "\uFFFD");

const upper = codec<string>({
  encode: (value) => Buffer.from(value.toUpperCase()),
  decode: (stored) => Buffer.from(stored).toString(),
});

test("a value of any version is shown in its stored shape", async () => {
  const people = (version: number) => table("people", { who: json<object>(undefined, { version }) });
  await using db = await open(place.location, { tables: [people(2)] });
  await db.transact((tx) => {
    tx.set(people(1).who, "old", { name: "v2:x" });
    tx.set(people(2).who, "new", { first: "\0" });
  });
  await postgresViews(db, [people(2)]);
  expect(await select(`select key, who from ${view("people")} order by key`)).toEqual([
    { key: "new", who: { first: "\uFFFD" } },
    { key: "old", who: { name: "v2:x" } },
  ]);
});

describe("values", () => {
  const all = table("all", {
    t: text(),
    b: bytes(),
    i: int(),
    f: float(),
    o: boolean(),
    d: date(),
    n: bigint(),
    j: json<unknown>(),
    c: oneOf("open", "paid"),
    x: upper,
    z: compressed(text()),
    s: signal(),
  });
  const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
  const anyText = fc.string({ unit: "grapheme", maxLength: 20 });
  const jsonText = fc.oneof(
    anyText,
    fc.constantFrom("\0", "\0\0\0", "\\u0000", "\\\0", "\\\\u0000\0", "\ud800", "\udfff\ud800", '"\0"'),
  );
  const { value: anyJson } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.oneof(
        jsonText,
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
      ),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), tie("value"), { maxKeys: 3 }),
    ),
  }));
  const rows = fc.array(
    fc.record({
      t: optional(fc.oneof(anyText, fc.constantFrom("", "\0", "a\0b\0\0", "x00", "x".repeat(5_000)))),
      b: optional(fc.uint8Array({ maxLength: 30 })),
      i: optional(fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -300, max: 300 }))),
      f: optional(
        fc.oneof(fc.double(), fc.constantFrom(-0, 5e-324, Number.MAX_VALUE, Number.NaN, -Infinity)),
      ),
      o: optional(fc.boolean()),
      d: optional(
        fc.oneof(fc.date({ noInvalidDate: true }), fc.constant(new Date(8.64e15)), fc.constant(new Date(-1))),
      ),
      n: optional(fc.oneof(fc.bigInt(), fc.bigInt({ min: -(2n ** 900n), max: 2n ** 900n }))),
      j: optional(anyJson),
      c: optional(fc.constantFrom("open" as const, "paid" as const)),
      x: optional(anyText),
      z: optional(fc.constantFrom("short", "long ".repeat(200))),
    }),
    { minLength: 1, maxLength: 40 },
  );

  test("of every codec are shown as they were written", async () => {
    await using db = await open(place.location, { tables: [all] });
    await postgresViews(db, [all]);
    const columns = `key, t, b, i, float8send(f) f, o, (extract(epoch from nullif(d, '-infinity')) * 1000)::int8 d, n::text n, j, c, x, z_compressed`;
    await fc.assert(
      fc.asyncProperty(rows, async (written) => {
        await db.transact(async (tx) => {
          for await (const { row } of tx.scan(all)) await tx.deleteRow(all, row);
        });
        await db.transact((tx) => {
          for (const [index, values] of written.entries()) {
            for (const [name, value] of Object.entries(values)) {
              if (value !== undefined) tx.set(all[name as "t"], `row ${index}`, value as string);
            }
          }
        });
        const shown = new Map(
          (await select(`select ${columns} from ${view("all")}`)).map((row) => [row.key, row]),
        );
        const filled = written.map((values, index) => [`row ${index}`, values] as const);
        const some = filled.filter(([, values]) =>
          Object.values(values).some((value) => value !== undefined),
        );
        expect([...shown.keys()].sort()).toEqual(some.map(([key]) => key).sort());
        for (const [key, { t, b, i, f, o, d, n, j, c, x, z }] of some) {
          const row = shown.get(key)!;
          expect(row.t).toBe(t === undefined ? null : held(t));
          expect(row.b).toEqual(b === undefined ? null : Buffer.from(b));
          expect(row.i).toBe(i === undefined ? null : String(i));
          if (f === undefined) expect(row.f).toBeNull();
          else expect(row.f.readDoubleBE()).toBe(f);
          expect(row.o).toBe(o ?? null);
          const isEarly = d === undefined || d.getTime() < Date.UTC(-4712, 0, 1) - 38 * 86_400_000;
          expect(row.d).toBe(isEarly ? null : String(d.getTime()));
          expect(row.n).toBe(n === undefined ? null : String(n));
          expect(row.j).toEqual(
            j === undefined
              ? null
              : JSON.parse(JSON.stringify(j), (_, v) => (typeof v === "string" ? held(v) : v)),
          );
          expect(row.c).toBe(c ?? null);
          expect(row.x).toEqual(x === undefined ? null : Buffer.from(x.toUpperCase()));
          expect(row.z_compressed?.[0] === 0xff).toBe(z?.startsWith("long") ?? false);
        }
      }),
      { numRuns: 25 },
    );
  });

  test("that PostgreSQL cannot hold are shown as infinite", async () => {
    await using db = await open(place.location, { tables: [all] });
    await db.transact((tx) => {
      tx.set(all.n, "a", 2n ** 40_000n);
      tx.set(all.n, "b", -(2n ** 40_000n));
      tx.set(all.d, "a", new Date(-8.64e15));
    });
    await postgresViews(db, [all]);
    expect(await select(`select n::text, d::text from ${view("all")} order by key`)).toEqual([
      { n: "Infinity", d: "-infinity" },
      { n: "-Infinity", d: null },
    ]);
  });
});

describe("keys", () => {
  test("of all types are columns, in the library's order", async () => {
    const keyed = table("keyed", { v: int() }, { key: tuple(text(), int(), float(), boolean(), bytes()) });
    await using db = await open(place.location, { tables: [keyed] });
    await postgresViews(db, [keyed]);
    const part = fc.tuple(
      fc.oneof(
        fc.string({ unit: "grapheme", maxLength: 6 }),
        fc.constantFrom("", "\x01\x02", "\x01\x01\x02", "x01"),
      ),
      fc.maxSafeInteger(),
      fc.double({ noNaN: true }),
      fc.boolean(),
      fc.oneof(
        fc.uint8Array({ maxLength: 5 }),
        fc.constantFrom(Uint8Array.of(0, 0, 1), Uint8Array.of(1, 1, 1, 2, 0)),
      ),
    );
    const keys = await fc.sample(part, { numRuns: 300, seed: 7 });
    await db.transact((tx) => {
      for (const [i, key] of keys.entries()) tx.set(keyed.v, key, i);
    });
    const shown = await select(
      `select key_1, key_2, float8send(key_3) key_3, key_4, key_5, v from ${view("keyed")} order by v`,
    );
    const expected = new Map<number, readonly unknown[]>();
    await using snapshot = await db.snapshot();
    for await (const { row, value } of snapshot.scan(keyed.v)) expected.set(value, row);
    expect(shown).toHaveLength(expected.size);
    for (const { key_1, key_2, key_3, key_4, key_5, v } of shown) {
      const [t, i, f, o, b] = expected.get(Number(v)) as (typeof keys)[number];
      expect([key_1, key_2, key_3.readDoubleBE(), key_4, key_5]).toEqual([
        held(t),
        String(i),
        f,
        o,
        Buffer.from(b),
      ]);
    }
  });

  test("that are text sort and compare by their bytes", async () => {
    const words = table("words", { n: int() });
    await using db = await open(place.location, { tables: [words] });
    const keys = ["", "a", "B", "ä", "z", "Z", "\u{1F600}", "\uFFFF", "a\0b", "a b"];
    await db.transact((tx) => {
      for (const [i, key] of keys.entries()) tx.set(words.n, key, i);
    });
    await postgresViews(db, [words]);
    const expected: string[] = [];
    await using snapshot = await db.snapshot();
    for await (const { row } of snapshot.scan(words.n)) if (!row.includes("\0")) expected.push(row);
    const shown = await select(`select key from ${view("words")} where n <> 8 order by key`);
    expect(shown.map(({ key }) => key)).toEqual(expected);
    expect(await select(`select key from ${view("words")} where n = 8`)).toEqual([{ key: "a\uFFFDb" }]);
  });
});

const shop = table("shop", { total: float(), note: text(), tags: family(int()), hint: signal() });

async function opened(): Promise<Database> {
  return await open(place.location, { tables: [shop] });
}

describe("a view shows", () => {
  test("the newest version, no deleted cell, and no row without a value", async () => {
    await using db = await opened();
    await db.transact((tx) => {
      tx.set(shop.total, "a", 1);
      tx.set(shop.note, "a", "first");
      tx.set(shop.total, "b", 2);
      tx.set(shop.note, "c", "only");
    });
    await postgresViews(db, [shop]);
    await db.transact((tx) => tx.set(shop.total, "a", 10));
    await db.transact((tx) => tx.delete(shop.note, "a"));
    await db.transact((tx) => tx.delete(shop.total, "b"));
    expect(await select(`select * from ${view("shop")} order by key`)).toEqual([
      { key: "a", total: 10, note: null },
      { key: "c", total: null, note: "only" },
    ]);
  });

  test("the cells of a family as rows", async () => {
    await using db = await opened();
    await db.transact((tx) => {
      tx.set(shop.tags.at("red"), "a", 1);
      tx.set(shop.tags.at(""), "a", 2);
      tx.set(shop.tags.at("blue"), "b", 3);
      tx.set(shop.total, "b", 9);
    });
    await db.transact((tx) => tx.delete(shop.tags.at("red"), "a"));
    const { views } = await postgresViews(db, [shop]);
    expect(views.map(({ name, family: of }) => [name, of])).toEqual([
      ["shop", undefined],
      ["shop_tags", "tags"],
    ]);
    expect(await select(`select * from ${view("shop_tags")} order by key, qualifier`)).toEqual([
      { key: "a", qualifier: "", value: "2" },
      { key: "b", qualifier: "blue", value: "3" },
    ]);
  });

  test("values of a megabyte", async () => {
    await using db = await opened();
    await db.transact((tx) => tx.set(shop.note, "a", "é".repeat(500_000)));
    await postgresViews(db, [shop]);
    expect(await select(`select length(note) from ${view("shop")}`)).toEqual([{ length: 500_000 }]);
  });

  test("no half of a transaction that commits in two phases", async () => {
    await using db = await open(place.location, { tables: [shop], commit: "two-phase" });
    await postgresViews(db, [shop]);
    await db.transact((tx) => {
      tx.set(shop.total, "a", 0);
      tx.set(shop.total, "b", 0);
    });
    const sums = new Set<number>();
    let isOver = false;
    const reading = (async () => {
      while (!isOver)
        for (const { sum } of await select(`select sum(total) from ${view("shop")}`)) sums.add(sum);
    })();
    for (let i = 1; i <= 60; i++) {
      await db.transact((tx) => {
        tx.set(shop.total, "a", i);
        tx.set(shop.total, "b", -i);
      });
    }
    isOver = true;
    await reading;
    expect([...sums]).toEqual([0]);
  });

  test("what a lock holds if its transaction has committed, and nothing else of it", async () => {
    await using db = await open(place.location, { tables: [shop], commit: "two-phase" });
    await postgresViews(db, [shop]);
    await db.transact((tx) => tx.set(shop.total, "b", 1));
    await db.transact((tx) => {
      tx.set(shop.note, "a", "n");
      tx.set(shop.total, "b", 2);
    });
    const cells = `${quoted(place.schema)}.cells`;
    const [{ id }] = await select(`select id from ${quoted(place.schema)}.tables where name = 'shop'`);
    await expect.poll(() => select(`select 1 from ${cells} where tbl = $1 and part = 0`, [id])).toEqual([]);
    // Turns the newest record of the second row back into the lock that it was before.
    const row = Buffer.from("b");
    const newest = (
      await select(
        `select ts, value from ${cells} where tbl = $1 and "row" = $2 and part = 1 order by ts desc limit 1`,
        [id, row],
      )
    )[0];
    const start = newest.value.readBigUInt64BE(1);
    const [{ row: first, col }] = await select(
      `select "row", col from ${cells} where tbl = $1 and part = 3 and ts = $2`,
      [id, String(start)],
    );
    const piece = (value: Buffer) => Buffer.concat([Buffer.of(0, value.length), value]);
    const head = Buffer.alloc(21);
    const lock = (flags: number) => {
      head[8] = flags;
      return Buffer.concat([
        head,
        piece(Buffer.from("session")),
        piece(Buffer.from("shop")),
        piece(first),
        piece(col),
        Buffer.of(0, 0, 0, 1),
        piece(Buffer.from("x")),
        flags === 0 ? newest.value.subarray(9) : Buffer.of(),
      ]);
    };
    const put = `insert into ${cells} values ($1, 'b', 'total', $2, $3, $4)`;
    await select(`delete from ${cells} where tbl = $1 and "row" = 'b' and part = 1 and ts = $2`, [
      id,
      newest.ts,
    ]);
    const total = async () => (await select(`select total from ${view("shop")} where key = 'b'`))[0]?.total;
    expect(await total()).toBe(1);
    await select(put, [id, 0, String(start), lock(0)]);
    expect(await total()).toBe(2);
    await select(`update ${cells} set value = $2 where tbl = $1 and "row" = 'b' and part = 0`, [
      id,
      lock(1 | 2),
    ]);
    expect(await total()).toBeUndefined();
    await select(`update ${cells} set value = '\\x02' where tbl = $1 and part = 3 and ts = $2`, [
      id,
      String(start),
    ]);
    expect(await total()).toBe(1);
  });

  test("only what is on the disk", async () => {
    await using db = await opened();
    await db.transact((tx) => tx.set(shop.total, "a", 1));
    await postgresViews(db, [shop]);
    const durable = `${quoted(place.schema)}.durable`;
    const [{ counter }] = await select(`select counter from ${durable}`);
    await db.transact((tx) => tx.set(shop.total, "a", 2));
    expect(await select(`select total from ${view("shop")}`)).toEqual([{ total: 2 }]);
    await select(`update ${durable} set counter = $1`, [counter]);
    expect(await select(`select total from ${view("shop")}`)).toEqual([{ total: 1 }]);
  });

  test("the rows of a bulk load once it is published", async () => {
    await using db = await opened();
    await postgresViews(db, [shop]);
    let during: unknown;
    async function* rows() {
      for (let i = 0; i < 3_000; i++) yield { row: `r${String(i).padStart(5, "0")}`, value: { total: i } };
      await expect
        .poll(() =>
          select(
            `select 1 from ${quoted(place.schema)}.cells c join ${quoted(place.schema)}.tables t on t.id = c.tbl where t.name = 'shop' limit 1`,
          ),
        )
        .toHaveLength(1);
      during = await select(`select count(*) from ${view("shop")}`);
      yield { row: "s", value: { total: 1 } };
    }
    await db.load("first", [loadPart(shop, rows)]);
    expect(during).toEqual([{ count: "0" }]);
    expect(await select(`select count(*), sum(total) from ${view("shop")}`)).toEqual([
      { count: "3001", sum: (3_000 * 2_999) / 2 + 1 },
    ]);
  });
});
