import fc from "fast-check";
import { boolean, bytes, float, int, type KeyPart, open, table, text, tuple } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { describe, expect, test } from "vitest";
import { gather } from "../../test/support/gather.js";
import { derive, eventualIndex, exactIndex } from "./index.js";

/** Indexes and `top` yield rows in the order of their keys, whatever the keys are made of. */

const texts = fc.string({ unit: fc.constantFrom("\0", "\x01", "a", '"', "é", "\uFF61", "😀"), maxLength: 3 });

interface Kind {
  readonly part: KeyPart<unknown>;
  readonly values: fc.Arbitrary<unknown>;
}

const kinds: readonly Kind[] = [
  { part: text(), values: texts },
  {
    part: bytes(),
    values: fc
      .array(fc.constantFrom(0, 1, 127, 128, 255), { maxLength: 3 })
      .map((list) => Uint8Array.from(list)),
  },
  { part: int(), values: fc.oneof(fc.integer({ min: -20, max: 120 }), fc.maxSafeInteger()) },
  {
    part: float(),
    values: fc.oneof(fc.constantFrom(-0, 0, Number.NEGATIVE_INFINITY), fc.double({ noNaN: true })),
  },
  { part: boolean(), values: fc.boolean() },
];

/** The codec of a table's keys, and some keys. They often share their first parts. */
const composite = fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 3 }).chain((shape) =>
  fc.record({
    key: fc.constant(tuple(...(shape.map(({ part }) => part) as [KeyPart<unknown>]))),
    keys: fc.array(fc.tuple(...shape.map(({ values }) => values)), { minLength: 2, maxLength: 8 }),
  }),
);
const plain = fc.record({
  key: fc.constant(undefined),
  keys: fc.array(texts, { minLength: 2, maxLength: 8 }),
});

const allTerms = { start: "x", end: "y" };

describe("indexes and `top`", () => {
  test("have the rows of a term or of equal values in the order of the table", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(composite, plain), async (given) => {
        const { key, keys } = given as { key: ReturnType<typeof tuple> | undefined; keys: never[] };
        const rows = table("rows", { exact: text(), eventual: text(), derived: text() }, { key });
        const by = { by: text(), of: (value: string) => [value] };
        const exact = exactIndex("exact", rows.exact, by);
        const eventual = eventualIndex("eventual", rows.eventual, by);
        const reads = ["derived"] as const;
        const derived = derive("derived", {
          from: rows,
          reads,
          key: [text()],
          index: ({ derived }) => (derived === undefined ? [] : [[derived]]),
        });
        const top = derive("top", {
          from: rows,
          reads,
          top: { n: 5, by: ({ derived }) => derived },
          max: (row) => row.derived,
        });
        const tables = [rows, exact.table, eventual.table, ...derived.tables, ...top.tables];
        const observers = [eventual.observer, ...derived.observers, ...top.observers];
        await using db = await open("memory:", { tables, observers });
        await db.transact(async (tx) => {
          for (const row of keys) {
            tx.set(rows.eventual, row, "x");
            tx.set(rows.derived, row, "x");
            await exact.set(tx, row, "x");
          }
        });
        await db.drain();
        await using snapshot = await db.snapshot();
        const inOrder = (await gather(snapshot.scan(rows))).map(({ row }) => row);
        const backwards = inOrder.toReversed();
        expect(await gather(derived.find(snapshot, ["x"]))).toStrictEqual(inOrder);
        expect(await gather(derived.find(snapshot, ["x"], { reverse: true }))).toStrictEqual(backwards);
        const after = inOrder[0]!;
        expect(await gather(derived.find(snapshot, ["x"], { after }))).toStrictEqual(inOrder.slice(1));
        const before = { after: backwards[0]!, reverse: true, limit: 2 };
        expect(await gather(derived.find(snapshot, ["x"], before))).toStrictEqual(backwards.slice(1, 3));
        for (const index of [exact, eventual]) {
          expect(await gather(index.find(snapshot, "x"))).toStrictEqual(inOrder);
          expect(await gather(index.find(snapshot, "x", { after }))).toStrictEqual(inOrder.slice(1));
          expect(await gather(index.find(snapshot, "x", before))).toStrictEqual(backwards.slice(1, 3));
          const entries = await gather(index.range(snapshot, { ...allTerms, reverse: true }));
          expect(entries).toStrictEqual(backwards.map((row) => ({ by: "x", row })));
          expect(await gather(index.range(snapshot, { start: "w", end: "x" }))).toEqual([]);
          expect(await gather(index.range(snapshot, { start: "x\0" }))).toEqual([]);
        }
        const listed = (await snapshot.row(top.table, "all"))?.top;
        const asText = (row: unknown) => (key === undefined ? row : key.format(row as never));
        expect(listed).toEqual(backwards.slice(0, 5).map((row) => ({ by: "x", row: asText(row) })));
        expect(await derived.compare(snapshot)).toEqual([]);
        expect(await top.compare(snapshot)).toEqual([]);
        expect(await exact.rebuild(db)).toMatchObject({ added: 0, removed: 0 });
        expect(await eventual.rebuild(db)).toMatchObject({ added: 0, removed: 0 });
      }),
      { numRuns: 100 },
    );
  });

  test("list number keys as numbers, and not as text", async () => {
    const numbered = table("numbered", { tag: text(), value: int() }, { key: tuple(text(), int()) });
    const byTag = derive("by_tag", {
      from: numbered,
      reads: ["tag"],
      key: [text()],
      index: ({ tag }) => (tag === undefined ? [] : [[tag]]),
    });
    const best = derive("best", { from: numbered, top: { n: 3, by: ({ value }) => value } });
    const tables = [numbered, ...byTag.tables, ...best.tables];
    await using db = await open("memory:", { tables, observers: [...byTag.observers, ...best.observers] });
    await db.transact((tx) => {
      for (const n of [1, 2, 9, 10, 11, 100, -1]) {
        tx.set(numbered.tag, ["acme", n], "x");
        tx.set(numbered.value, ["acme", n], 5);
      }
    });
    await db.drain();
    await using snapshot = await db.snapshot();
    const found = await gather(byTag.find(snapshot, ["x"]));
    expect(found.map(([, n]) => n)).toEqual([-1, 1, 2, 9, 10, 11, 100]);
    const listed = (await snapshot.row(best.table, "all"))?.top?.map(({ row }) => row);
    expect(listed).toEqual(['["acme",100]', '["acme",11]', '["acme",10]']);
    // An entry is a row of its own: the term, then the key.
    const entries = await gather(snapshot.scan(byTag.table, { prefix: ["x", "acme"], limit: 2 }));
    expect(entries.map(({ row }) => row)).toEqual([
      ["x", "acme", -1],
      ["x", "acme", 1],
    ]);
  });
});

test("`find` continues only within a whole term", async () => {
  const wares = table("wares", { kind: text(), cents: int() });
  const byPrice = derive("by_price", {
    from: wares,
    key: [text(), int()],
    index: ({ kind, cents }) => (kind === undefined || cents === undefined ? [] : [[kind, cents] as const]),
  });
  await using db = await open("memory:", { derivations: [byPrice] });
  await db.transact((tx) => {
    for (const row of ["a", "b"]) {
      tx.set(wares.kind, row, "tea");
      tx.set(wares.cents, row, 500);
    }
  });
  await db.drain();
  await using snapshot = await db.snapshot();
  expect(await gather(byPrice.find(snapshot, ["tea", 500], { after: "a" }))).toEqual(["b"]);
  await expect(gather(byPrice.find(snapshot, ["tea"], { after: "a" }))).rejects.toThrow(
    "`after` of find needs the whole term, of 2 parts, not 1.",
  );
});

test("an index whose term and row key have more than 32 parts together is refused with the reason", () => {
  const parts = Array.from({ length: 32 }, () => int()) as unknown as [KeyPart<number>];
  const wide = table("wide", { tag: text() }, { key: tuple(...parts) });
  const make = () => exactIndex("by_tag", wide.tag, { by: text(), of: (tag) => [tag] });
  expect(make).toThrow(/of 33 parts is too wide/);
});

test("an index whose recorded keys hold the row key as JSON is refused, and not mixed with the new keys", async () => {
  const rows = table("rows", { tag: text() }, { key: tuple(text(), int()) });
  const index = exactIndex("by_tag", rows.tag, { by: text(), of: (tag) => [tag] });
  const unreleased = table("by_tag", { entry: boolean() }, { key: tuple(text(), text()) });
  const store = memoryStore();
  const before = await open(store, { tables: [rows, unreleased] });
  await before.transact((tx) => tx.set(unreleased.entry, ["x", '["a",1]'], true));
  const opening = open(store, { tables: [rows, index.table] });
  await expect(opening).rejects.toThrow(
    /recorded as tuple\(text,text\), but declared as tuple\(text,text,int\)/,
  );
});
