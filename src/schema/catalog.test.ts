import { describe, expect, it } from "vitest";
import { SchemaError } from "../errors/index.js";
import {
  bytesTable,
  compareTables,
  describeTable,
  mergeTables,
  type TableDescription,
  tableFromDescription,
} from "./catalog.js";
import type { Column, Family } from "./column.js";
import { definition } from "./definition.js";
import { tuple } from "./key/tuple.js";
import { family, signal, table } from "./table.js";
import { codec } from "./value/custom.js";
import { json } from "./value/json.js";
import { boolean, bytes, float, int, text } from "./value/scalars.js";

const dates = codec<Date>({
  encode: (value) => Buffer.from(value.toISOString()),
  decode: (stored) => new Date(Buffer.from(stored).toString()),
});

const documents = table(
  "documents",
  {
    contents: text(),
    digest: bytes(),
    size: int(),
    rank: float(),
    seen: boolean(),
    meta: json(),
    at: dates,
    anchors: family(text()),
    rescore: signal(),
  },
  { key: tuple(text(), int()) },
);

const described = describeTable(documents[definition]);

function changed(change: Partial<TableDescription>): TableDescription {
  return { ...described, ...change };
}

describe("describeTable", () => {
  it("gives plain JSON", () => {
    expect(JSON.parse(JSON.stringify(described))).toStrictEqual(described);
    expect(described).toMatchObject({ name: "documents", key: "tuple(text,int)" });
    expect(described.columns.map(({ name, kind, codec }) => `${name} ${kind} ${codec}`)).toEqual([
      "contents column text",
      "digest column bytes",
      "size column int",
      "rank column float",
      "seen column boolean",
      "meta column json",
      "at column custom",
      "anchors family text",
      "rescore signal null",
    ]);
  });
});

describe("tableFromDescription", () => {
  const again = tableFromDescription(described);
  const column = (name: string) => again[name] as Column<unknown, unknown>;

  it("makes a table that reads and writes the same", () => {
    expect(describeTable(again[definition])).toStrictEqual(described);
    expect(column("size").codec.decode(documents.size.codec.encode(-7))).toBe(-7);
    expect(column("meta").codec.decode(documents.meta.codec.encode({ a: 1 }))).toEqual({ a: 1 });
    const anchors = again.anchors as Family<unknown, unknown>;
    expect(anchors.at("q").path).toEqual(documents.anchors.at("q").path);
    expect(again[definition].key.encode(["a", 1])).toEqual(documents[definition].key.encode(["a", 1]));
  });

  it("reads custom values as bytes, and refuses to write them", () => {
    const stored = Buffer.from(dates.encode(new Date(0)));
    expect(column("at").codec.decode(stored)).toEqual(new Uint8Array(stored));
    expect(() => column("at").codec.encode(stored)).toThrow(SchemaError);
    expect(() => column("at").codec.encode(stored)).toThrow(/documents\.at has a custom codec/);
  });

  it("refuses unknown descriptions", () => {
    const one = (change: object) => changed({ columns: [{ ...described.columns[0]!, ...change }] });
    const bad = [
      changed({ key: "tuple(date)" }),
      changed({ name: "a b" }),
      changed({ columns: [] }),
      changed({ columns: undefined as never }),
      changed({ columns: [described.columns[0]!, described.columns[0]!] }),
      one({ kind: "index" }),
      one({ codec: null }),
      one({ name: "~ack" }),
    ];
    for (const description of bad) expect(() => tableFromDescription(description)).toThrow(SchemaError);
  });
});

describe("compareTables", () => {
  const with_ = (columns: TableDescription["columns"]) => changed({ columns });
  const [contents, digest] = described.columns as [
    TableDescription["columns"][0],
    TableDescription["columns"][0],
  ];

  it("finds no difference between equal tables, in any order of columns", () => {
    const turned = with_([...described.columns].reverse());
    expect(compareTables(described, turned)).toEqual({ additions: [], clashes: [], hasNewMarks: false });
  });

  it("accepts new columns as additions, and ignores recorded columns that are not declared", () => {
    expect(compareTables(with_([contents]), with_([contents, digest])).additions).toEqual(["digest"]);
    expect(compareTables(with_([contents, digest]), with_([contents]))).toEqual({
      additions: [],
      clashes: [],
      hasNewMarks: false,
    });
  });

  it("reports another key, kind or codec as a conflict, in words", () => {
    expect(compareTables(described, changed({ key: "text" })).clashes).toEqual([
      "row keys of table documents are recorded as tuple(text,int), but declared as text",
    ]);
    expect(compareTables(with_([contents]), with_([{ ...contents, codec: "int" }])).clashes).toEqual([
      "column documents.contents is recorded as column of text, but declared as column of int",
    ]);
    const asSignal = with_([{ ...contents, kind: "signal", codec: null }]);
    expect(compareTables(with_([contents]), asSignal).clashes).toEqual([
      "column documents.contents is recorded as column of text, but declared as signal",
    ]);
    expect(compareTables(with_([contents]), with_([{ ...contents, kind: "family" }])).clashes).toHaveLength(
      1,
    );
    expect(compareTables(described, changed({ name: "other" })).clashes).toHaveLength(1);
  });
});

describe("marks", () => {
  const schema = {
    "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) },
  } as const;
  const people = table("people", { profile: json(schema), notes: family(json(schema)), name: text() });
  const names = table("names", { owner: text() }, { writtenWith: { column: people.name } });
  const marked = describeTable(people[definition]);
  const unmarked = { ...marked, columns: marked.columns.map(({ schema: _, ...column }) => column) };

  it("survive JSON", () => {
    expect(marked.columns.map((column) => column.schema)).toEqual([true, true, undefined]);
    const kept = describeTable(names[definition]);
    expect(kept.writtenWith).toEqual({ table: "people", column: "name" });
    const versioned = { ...kept, version: 3, firstVersion: 2 };
    for (const each of [marked, kept, versioned, { ...kept, version: 2 }]) {
      expect(JSON.parse(JSON.stringify(each))).toStrictEqual(each);
      expect(describeTable(tableFromDescription(each)[definition])).toEqual(each);
      expect(describeTable(bytesTable(each)[definition])).toEqual(each);
    }
    expect(describeTable(table("a", { b: json() })[definition]).columns[0]).not.toHaveProperty("schema");
  });

  it("let a command without the module read a column with a schema, but not write it", () => {
    const { codec: untyped } = tableFromDescription(marked).profile as Column<unknown>;
    expect(untyped.decode(people.profile.codec.encode({ any: 1 }))).toEqual({ any: 1 });
    expect(() => untyped.encode({ any: 1 })).toThrow(/people\.profile has a schema/);
  });

  it("have the version of a unique constraint or index, which only rises", () => {
    const inVersion = (version: number) =>
      describeTable(table("names", { owner: text() }, { version })[definition]);
    expect(inVersion(1)).not.toHaveProperty("version");
    expect(inVersion(2)).toMatchObject({ version: 2, firstVersion: 2 });
    expect(compareTables(inVersion(1), inVersion(2))).toEqual({
      additions: [],
      clashes: [],
      hasNewMarks: true,
    });
    expect(compareTables(inVersion(2), inVersion(1)).hasNewMarks).toBe(false);
    const raised = mergeTables(inVersion(1), inVersion(2));
    expect(raised).toMatchObject({ version: 2 });
    expect(raised).not.toHaveProperty("firstVersion");
    expect(mergeTables(inVersion(2), inVersion(3))).toMatchObject({ version: 3, firstVersion: 2 });
    expect(mergeTables(inVersion(3), inVersion(2))).toMatchObject({ version: 3 });
    for (const version of [0, 1.5, "2" as never])
      expect(() => inVersion(version)).toThrow(/version must be a whole number from 1/);
  });

  it("are recorded when they are first declared, and stay", () => {
    expect(compareTables(unmarked, marked)).toEqual({ additions: [], clashes: [], hasNewMarks: true });
    expect(compareTables(marked, unmarked)).toEqual({ additions: [], clashes: [], hasNewMarks: false });
    expect(mergeTables(unmarked, marked)).toEqual(marked);
    expect(mergeTables(marked, unmarked)).toEqual(marked);
    const kept = describeTable(names[definition]);
    const { writtenWith: _, ...before } = kept;
    expect(compareTables(before, kept)).toMatchObject({ clashes: [], hasNewMarks: true });
    expect(mergeTables(before, kept)).toEqual(kept);
    expect(compareTables(kept, before)).toMatchObject({ clashes: [], hasNewMarks: false });
    const other = { ...kept, writtenWith: { table: "people", column: "notes", qualifier: "a" } };
    expect(compareTables(kept, other).clashes).toEqual([
      "table names is recorded as written with column people.name, but declared as written with column people.notes:a",
    ]);
  });

  it("of a writer need a column", () => {
    const writtenWith = { column: people.notes } as never;
    expect(() => table("x", { owner: text() }, { writtenWith })).toThrow(/writtenWith must be an object/);
  });
});

describe("bytesTable", () => {
  it("is the described table, with every value as its bytes", () => {
    const raw = bytesTable(described);
    expect(describeTable(raw[definition])).toEqual(described);
    for (const name of ["contents", "size", "meta", "at"]) {
      const { codec: stored } = raw[name] as Column<unknown>;
      expect(stored.decode(stored.encode(Buffer.from([0xff, 0])))).toEqual(new Uint8Array([0xff, 0]));
      expect(() => stored.encode("text")).toThrow("expected a Uint8Array");
    }
    expect((raw.anchors as Family<unknown>).at("q").codec.encode(new Uint8Array(2))).toHaveLength(2);
    expect(() => (raw.contents as Column<unknown>).codec.encode(new Uint8Array(10_000_001))).toThrow(
      "too long",
    );
  });
});
