import type { StandardSchemaV1 } from "@standard-schema/spec";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  type AnyTable,
  boolean,
  bytes,
  type Codec,
  type Column,
  codec,
  type Family,
  family,
  float,
  int,
  json,
  type KeyCodec,
  type KeyOf,
  type KeyPrefix,
  keyPrefix,
  type RowOf,
  type Signal,
  type StandardSchema,
  signal,
  table,
  text,
  tuple,
  type UntypedTable,
} from "../../src/schema/index.js";

const documents = table("documents", {
  contents: text(),
  size: int(),
  score: float(),
  seen: boolean(),
  digest: bytes(),
  links: json<string[]>(),
  meta: json(z.object({ title: z.string(), year: z.number().optional() })),
  state: json<"new" | "old">(),
  anchors: family(text()),
  counts: family(int()),
  rescore: signal(),
});
const visits = table("visits", { seconds: float(), pages: family(int()) }, { key: tuple(text(), int()) });

declare function set<V, K, I = V>(column: Column<V, K, I>, row: NoInfer<K>, value: NoInfer<I>): void;
declare function get<V, K>(column: Column<V, K>, row: NoInfer<K>): V | undefined;
declare function notify<K>(signal: Signal<K>, row: NoInfer<K>): void;
declare function readRow<T extends AnyTable>(table: T, row: KeyOf<T>): RowOf<T>;

describe("columns", () => {
  it("carry their values' types", () => {
    expectTypeOf(documents.contents).toEqualTypeOf<Column<string, string>>();
    expectTypeOf(documents.digest).toEqualTypeOf<Column<Uint8Array, string>>();
    expectTypeOf(documents.anchors).toEqualTypeOf<Family<string, string>>();
    expectTypeOf(documents.anchors.at("q")).toEqualTypeOf<Column<string, string>>();
    expectTypeOf(documents.rescore).toEqualTypeOf<Signal<string>>();
    expectTypeOf(get(documents.links, "r")).toEqualTypeOf<string[] | undefined>();
    expectTypeOf(get(documents.state, "r")).toEqualTypeOf<"new" | "old" | undefined>();
    expectTypeOf(get(documents.counts.at("q"), "r")).toEqualTypeOf<number | undefined>();
  });

  it("take values of their type only", () => {
    set(documents.contents, "r", "text");
    set(documents.state, "r", "old");
    set(documents.anchors.at("q"), "r", "text");
    // @ts-expect-error a number is not text
    set(documents.contents, "r", 5);
    // @ts-expect-error undefined is not a value
    set(documents.contents, "r", undefined);
    // @ts-expect-error text is not an int
    set(documents.size, "r", "5");
    // @ts-expect-error not one of the union
    set(documents.state, "r", "other");
    // @ts-expect-error numbers are not strings
    set(documents.links, "r", [1]);
    // @ts-expect-error a text is not bytes
    set(documents.digest, "r", "abc");
    // @ts-expect-error the family's values are texts
    set(documents.anchors.at("q"), "r", 5);
  });

  it("that are not columns cannot be set", () => {
    // @ts-expect-error a signal is only notified
    set(documents.rescore, "r", "text");
    // @ts-expect-error a signal has no value, not even undefined
    set(documents.rescore, "r", undefined);
    // @ts-expect-error a family needs .at(qualifier)
    set(documents.anchors, "r", "text");
    // @ts-expect-error a table is not a column
    set(documents, "r", "text");
    // @ts-expect-error no such column
    set(documents.content, "r", "text");
    // @ts-expect-error a column is not notified
    notify(documents.contents, "r");
    notify(documents.rescore, "r");
  });

  it("can be used by code that does not know their types", () => {
    expectTypeOf(documents.contents).toExtend<Column<unknown, unknown>>();
    expectTypeOf(visits.pages).toExtend<Family<unknown, unknown>>();
    expectTypeOf(documents.rescore).toExtend<Signal<unknown>>();
    expectTypeOf<UntypedTable[string]>().toExtend<
      Column<unknown, unknown> | Family<unknown, unknown> | Signal<unknown>
    >();
  });
});

interface Tree {
  readonly label: string;
  readonly children?: readonly Tree[];
  readonly parent: Tree | null;
}

describe("json", () => {
  it("takes its schema's input type, and gives its output type", () => {
    const settings = table("settings", {
      all: json(z.object({ size: z.number().default(10), name: z.string() })),
      by: family(json(z.object({ size: z.number().default(10) }))),
    });
    set(settings.all, "r", { name: "a" });
    set(settings.by.at("q"), "r", {});
    expectTypeOf(get(settings.all, "r")).toEqualTypeOf<{ size: number; name: string } | undefined>();
    expectTypeOf(get(settings.by.at("q"), "r")).toEqualTypeOf<{ size: number } | undefined>();
    // @ts-expect-error the name has no default
    set(settings.all, "r", { size: 1 });
  });

  it("compiles for types that JSON can represent", () => {
    expectTypeOf(json<unknown>()).toEqualTypeOf<Codec<unknown>>();
    expectTypeOf(json<Tree>()).toEqualTypeOf<Codec<Tree>>();
    expectTypeOf(json<{ a?: string; b: number | null; c: readonly [1, "x"] }[]>()).toExtend<Codec<unknown>>();
    expectTypeOf(json<Record<string, string[]>>()).toEqualTypeOf<Codec<Record<string, string[]>>>();
  });

  it("does not compile for types that it cannot represent", () => {
    // @ts-expect-error a date would come back as a string
    json<Date>();
    // @ts-expect-error a nested date would too
    json<{ at: Date }>();
    // @ts-expect-error a bigint cannot be written
    json<{ id: bigint }[]>();
    // @ts-expect-error a map would come back empty
    json<{ counts: Map<string, number> }>();
    // @ts-expect-error bytes would come back as an object
    json<{ bytes: Uint8Array }>();
    // @ts-expect-error a method cannot be stored
    json<{ run(): void }>();
  });

  it("has the type of its schema's output", () => {
    expectTypeOf(json(z.object({ n: z.number() }))).toEqualTypeOf<Codec<{ n: number }>>();
    expectTypeOf(json(z.object({ n: z.number().default(1) }))).toEqualTypeOf<
      Codec<{ n: number }, { n?: number | undefined }>
    >();
    expectTypeOf(json(z.array(z.string()))).toEqualTypeOf<Codec<string[]>>();
    expectTypeOf(get(documents.meta, "r")).toEqualTypeOf<
      { title: string; year?: number | undefined } | undefined
    >();
    set(documents.meta, "r", { title: "t" });
    // @ts-expect-error the title is missing
    set(documents.meta, "r", { year: 1 });
  });

  it("refuses a schema that does not accept its own output", () => {
    // @ts-expect-error the schema takes strings but returns numbers
    json(z.string().transform(Number));
  });

  it("takes any Standard Schema", () => {
    expectTypeOf<StandardSchemaV1<string, string>>().toExtend<StandardSchema<string, string>>();
    expectTypeOf(json({} as StandardSchemaV1<{ a: 1 }>)).toEqualTypeOf<Codec<{ a: 1 }>>();
  });
});

describe("codec", () => {
  it("has the type of its functions", () => {
    const dates = codec({
      encode: (value: Date) => new Uint8Array([value.getDate()]),
      decode: (stored) => new Date(stored[0] ?? 0),
    });
    expectTypeOf(dates).toEqualTypeOf<Codec<Date>>();
  });
});

describe("keys", () => {
  it("carry their types", () => {
    expectTypeOf<KeyOf<typeof documents>>().toEqualTypeOf<string>();
    expectTypeOf<KeyOf<typeof visits>>().toEqualTypeOf<readonly [string, number]>();
    expectTypeOf(tuple(text(), float(), boolean(), bytes(), int())).toEqualTypeOf<
      KeyCodec<readonly [string, number, boolean, Uint8Array, number]>
    >();
    set(visits.seconds, ["a", 1], 1.5);
    set(visits.pages.at("q"), ["a", 1] as const, 1);
    // @ts-expect-error the parts are in the wrong order
    set(visits.seconds, [1, "a"], 1.5);
    // @ts-expect-error a part is missing
    set(visits.seconds, ["a"], 1.5);
    // @ts-expect-error a part too many
    set(visits.seconds, ["a", 1, 2], 1.5);
    // @ts-expect-error a string is not a tuple
    set(visits.seconds, "a", 1.5);
    // @ts-expect-error a tuple is not a string
    set(documents.contents, ["a", 1], "text");
    // @ts-expect-error a number is not a string
    set(documents.contents, 1, "text");
  });

  it("have sortable parts", () => {
    // @ts-expect-error json has no order
    tuple(text(), json<string>());
    // @ts-expect-error a custom codec has no order
    tuple(codec<string>({ encode: () => new Uint8Array(), decode: () => "" }));
    // @ts-expect-error at least one
    tuple();
    // @ts-expect-error a codec of values is not one of keys
    table("t", { a: text() }, { key: text() });
  });

  it("have prefixes", () => {
    expectTypeOf<KeyPrefix<string>>().toEqualTypeOf<string>();
    const visit = tuple(text(), int(), boolean());
    keyPrefix(visit, []);
    keyPrefix(visit, ["a"]);
    keyPrefix(visit, ["a", 1]);
    keyPrefix(visit, ["a", 1, true]);
    // @ts-expect-error the first part is text
    keyPrefix(visit, [1]);
    // @ts-expect-error a part too many
    keyPrefix(visit, ["a", 1, true, 2]);
    // @ts-expect-error a string is not a tuple
    keyPrefix(visit, "a");
  });
});

describe("rows", () => {
  it("contain columns and families, but no signals", () => {
    type Row = RowOf<typeof visits>;
    expectTypeOf<Row>().toEqualTypeOf<{
      readonly seconds?: number;
      readonly pages: ReadonlyMap<string, number>;
    }>();
    expectTypeOf<keyof RowOf<typeof documents>>().toEqualTypeOf<
      "contents" | "size" | "score" | "seen" | "digest" | "links" | "meta" | "state" | "anchors" | "counts"
    >();
    expectTypeOf<RowOf<typeof documents>["links"]>().toEqualTypeOf<string[] | undefined>();
    expectTypeOf<RowOf<typeof documents>["anchors"]>().toEqualTypeOf<ReadonlyMap<string, string>>();
  });

  it("are read by their table", () => {
    expectTypeOf(readRow(visits, ["a", 1])).toEqualTypeOf<RowOf<typeof visits>>();
    // @ts-expect-error not this table's key
    readRow(visits, "a");
  });
});

describe("tables", () => {
  it("are declared by codecs, families and signals only", () => {
    // @ts-expect-error a string declares nothing
    table("t", { a: "text" });
    // @ts-expect-error a signal has no family
    table("t", { a: family(signal()) });
  });
});
