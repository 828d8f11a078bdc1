import { describe, expect, it } from "vitest";
import { InvalidKeyError, SchemaError } from "../errors/index.js";
import { isColumn, isFamily, isSignal } from "./column.js";
import { definition } from "./definition.js";
import { tuple } from "./key/tuple.js";
import { limits } from "./limits.js";
import { checkName } from "./names.js";
import { family, isTable, signal, table, tableColumns } from "./table.js";
import { int, text } from "./value/scalars.js";

const documents = table("documents", { contents: text(), anchors: family(text()), rescore: signal() });

describe("table", () => {
  it("has its columns, families and signals by name", () => {
    const { contents, anchors, rescore } = documents;
    expect(contents).toMatchObject({ kind: "column", name: "contents", qualifier: undefined, codec: text() });
    expect(Buffer.from(contents.path).toString()).toBe("contents");
    expect(anchors).toMatchObject({ kind: "family", name: "anchors", codec: text() });
    expect(rescore).toMatchObject({ kind: "signal", name: "rescore" });
    expect(Buffer.from(rescore.path).toString()).toBe("rescore");
    expect(contents.table).toBe(documents[definition]);
    expect(tableColumns(documents)).toEqual([contents, anchors, rescore]);
  });

  it("has a family's cells by qualifier", () => {
    const cell = documents.anchors.at("q");
    expect(cell).toMatchObject({ kind: "column", name: "anchors", qualifier: "q" });
    expect(Buffer.from(cell.path).toString()).toBe("anchors\0q");
    expect(documents.anchors.at("").qualifier).toBe("");
    for (const bad of ["\ud800", "x".repeat(limits.keyBytes + 1), 5, undefined]) {
      expect(() => documents.anchors.at(bad as never)).toThrow(InvalidKeyError);
      expect(() => documents.anchors.at(bad as never)).toThrow(/documents\.anchors: bad qualifier/);
    }
  });

  it("holds its definition under a symbol that other copies of the package know", () => {
    const shared = (documents as unknown as Record<symbol, unknown>)[Symbol.for("percolatordb.table")];
    expect(shared).toBe(documents[definition]);
    expect(documents[definition].name).toBe("documents");
    expect([...documents[definition].columns.keys()]).toEqual(["contents", "anchors", "rescore"]);
    expect(documents[definition].key.tag).toBe("text");
    expect(Object.keys(documents)).toEqual(["contents", "anchors", "rescore"]);
  });

  it("accepts names of built-in object properties", () => {
    const odd = table("constructor", {
      constructor: text(),
      toString: int(),
      kind: signal(),
      name: text(),
    });
    expect(odd.toString).toMatchObject({ kind: "column", name: "toString" });
    expect(odd.constructor).toMatchObject({ kind: "column", name: "constructor" });
    expect(odd.kind.kind).toBe("signal");
  });

  it("cannot be modified", () => {
    expect(() => Object.assign(documents, { contents: 1 })).toThrow(TypeError);
    expect(() => Object.assign(documents.contents, { name: "x" })).toThrow(TypeError);
  });

  it("refuses bad names", () => {
    const long = "x".repeat(limits.nameLength);
    expect(table(long, { [long]: text() })[definition].name).toBe(long);
    for (const bad of ["", "1a", "a b", "a.b", "~a", "é", "-a", "a\0", `${long}x`, "__proto__"]) {
      expect(() => table(bad, { a: text() })).toThrow(SchemaError);
      expect(() => table("t", { [bad]: text() })).toThrow(SchemaError);
    }
    expect(() => table(5 as never, { a: text() })).toThrow(/must be a string, not 5/);
    expect(() => checkName("observer", "no way")).toThrow(/"no way" cannot name an observer/);
  });

  it("refuses no columns, and invalid columns", () => {
    expect(() => table("t", {})).toThrow(/no columns/);
    for (const bad of [null, undefined, [text()], "a"]) {
      expect(() => table("t", bad as never)).toThrow(SchemaError);
    }
    for (const bad of [null, undefined, "text", text, family("x" as never), family(signal() as never), {}]) {
      expect(() => table("t", { a: bad as never })).toThrow(/column a must be a codec/);
    }
    expect(() => table("t", JSON.parse('{"__proto__": 1}') as never)).toThrow(SchemaError);
  });

  it("takes no time to live from what every object has", () => {
    const columns = { constructor: text(), valueOf: text(), token: text() };
    const made = table("t", columns, { ttlMs: { token: 1_000 } as never })[definition];
    expect([...made.columns.values()].map(({ ttlMs }) => ttlMs)).toEqual([undefined, undefined, 1_000]);
  });

  it("refuses keys that tuple did not make", () => {
    expect(table("t", { a: text() }, { key: tuple(int()) })[definition].key.tag).toBe("tuple(int)");
    expect(() => table("t", { a: text() }, { key: text() as never })).toThrow(/made by tuple/);
  });
});

describe("tables and columns", () => {
  it("are recognized by their brands, not by their classes", () => {
    const { contents, anchors, rescore } = documents;
    const all = [
      documents,
      contents,
      anchors,
      anchors.at("q"),
      rescore,
      {},
      null,
      "contents",
      { kind: "column" },
    ];
    expect(all.map(isTable)).toEqual([true, ...Array(8).fill(false)]);
    expect(all.map(isColumn)).toEqual([false, true, false, true, ...Array(5).fill(false)]);
    expect(all.map(isFamily)).toEqual([false, false, true, ...Array(6).fill(false)]);
    expect(all.map(isSignal)).toEqual([false, false, false, false, true, ...Array(4).fill(false)]);
  });
});
