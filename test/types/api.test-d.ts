import {
  type AnyTable,
  type Database,
  family,
  int,
  json,
  type KeyOf,
  observer,
  type RowOf,
  type Snapshot,
  signal,
  table,
  text,
  tuple,
  type ValueOfScanned,
} from "percolatordb";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

const documents = table("documents", {
  contents: text(),
  links: json<string[]>(),
  meta: json(z.object({ lang: z.string() })),
  anchors: family(int()),
  rescore: signal(),
});
const events = table("events", { note: text() }, { key: tuple(text(), int()) });
declare const db: Database;

test("values carry their columns' types", () => {
  void db.transact(async (tx) => {
    expectTypeOf(await tx.get(documents.contents, "a")).toEqualTypeOf<string | undefined>();
    expectTypeOf(await tx.get(documents.links, "a")).toEqualTypeOf<string[] | undefined>();
    expectTypeOf(await tx.get(documents.meta, "a")).toEqualTypeOf<{ lang: string } | undefined>();
    expectTypeOf(await tx.get(documents.anchors.at("x"), "a")).toEqualTypeOf<number | undefined>();
    expectTypeOf(await tx.getMany(documents.contents, ["a"])).toEqualTypeOf<(string | undefined)[]>();
    expectTypeOf(await tx.row(documents, "a")).toEqualTypeOf<RowOf<typeof documents> | undefined>();
    for await (const item of tx.scan(events.note)) {
      expectTypeOf(item.row).toEqualTypeOf<readonly [string, number]>();
      expectTypeOf(item.value).toEqualTypeOf<string>();
    }
    for await (const entry of tx.entries(documents.anchors, "a")) {
      expectTypeOf(entry).toEqualTypeOf<{ readonly qualifier: string; readonly value: number }>();
    }
  });
});

test("wrong values, keys and columns do not compile", () => {
  void db.transact(async (tx) => {
    tx.set(documents.contents, "a", "x");
    tx.notify(documents.rescore, "a");
    // @ts-expect-error a number is no text
    tx.set(documents.contents, "a", 1);
    // @ts-expect-error the schema wants a language
    tx.set(documents.meta, "a", {});
    // @ts-expect-error signals are notified, never set
    tx.set(documents.rescore, "a", "x");
    // @ts-expect-error a cell of a family is named by at()
    tx.set(documents.anchors, "a", 1);
    // @ts-expect-error columns are set, never notified
    tx.notify(documents.contents, "a");
    // @ts-expect-error the key of this table is a tuple
    tx.set(events.note, "a", "x");
    // @ts-expect-error the second part is a number
    tx.set(events.note, ["a", "b"], "x");
    // @ts-expect-error a signal has no value
    await tx.get(documents.rescore, "a");
    // @ts-expect-error there is no such column
    tx.set(documents.title, "a", "x");
  });
});

test("the error of a scan is about its options, not about its target", () => {
  void db.transact(async (tx) => {
    // @ts-expect-error an unknown option
    tx.scan(documents.contents, { limt: 5 });
    // @ts-expect-error the start of a string key is a string
    tx.scan(documents.contents, { prefix: 5 });
    // @ts-expect-error leading parts are an array
    tx.scan(events, { prefix: "a" });
    tx.scan(events, { prefix: ["a"] });
    // @ts-expect-error a signal holds nothing
    tx.scan(documents.rescore);
    for await (const { row, value } of tx.scan(documents.anchors)) {
      expectTypeOf(row).toEqualTypeOf<string>();
      expectTypeOf(value).toEqualTypeOf<ReadonlyMap<string, number>>();
    }
    for await (const { value } of tx.scan(events)) {
      expectTypeOf(value).toEqualTypeOf<RowOf<typeof events>>();
    }
  });
});

test("a function of any table can return what it scans, without a cast", () => {
  async function all<T extends AnyTable>(view: Snapshot, target: T) {
    const found: { row: KeyOf<T>; value: ValueOfScanned<T> }[] = [];
    for await (const item of view.scan(target)) found.push(item);
    return found;
  }
  expectTypeOf(all<typeof events>).returns.resolves.items.toEqualTypeOf<{
    row: readonly [string, number];
    value: RowOf<typeof events>;
  }>();
});

test("a key of one string can be narrowed by a plain string", () => {
  const users = table("users", { name: text() }, { key: tuple(text()) });
  void db.transact(async (tx) => {
    tx.scan(users, { prefix: "a" });
    tx.scan(users, { prefix: ["a"] });
  });
});

test("columns with a default from their schema may be left out", () => {
  const settings = table("settings", {
    all: json(z.object({ size: z.number().default(10), name: z.string() })),
  });
  void db.transact(async (tx) => {
    tx.set(settings.all, "a", { name: "x" });
    expectTypeOf(await tx.get(settings.all, "a")).toEqualTypeOf<{ size: number; name: string } | undefined>();
    // @ts-expect-error the name has no default
    tx.set(settings.all, "a", {});
  });
});

test("observers get values of their column's type", () => {
  observer("a", documents.contents, (_tx, { row, value, previous, qualifier }) => {
    expectTypeOf(row).toEqualTypeOf<string>();
    expectTypeOf(value).toEqualTypeOf<string | undefined>();
    expectTypeOf(previous).toEqualTypeOf<string | undefined>();
    expectTypeOf(qualifier).toEqualTypeOf<undefined>();
  });
  observer("b", documents.anchors, (_tx, { value, qualifier }) => {
    expectTypeOf(value).toEqualTypeOf<number | undefined>();
    expectTypeOf(qualifier).toEqualTypeOf<string>();
  });
  observer("c", documents.rescore, (_tx, { value }) => {
    expectTypeOf(value).toEqualTypeOf<undefined>();
  });
  observer("d", events.note, (_tx, { row }) => {
    expectTypeOf(row).toEqualTypeOf<readonly [string, number]>();
  });
});
