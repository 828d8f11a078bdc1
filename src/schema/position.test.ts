import { describe, expect, it } from "vitest";
import { InvalidKeyError, InvalidValueError } from "../errors/index.js";
import { definition } from "./definition.js";
import { describeValue } from "./describe.js";
import { tuple } from "./key/tuple.js";
import { limits } from "./limits.js";
import {
  checkCellKey,
  decodeRow,
  decodeValue,
  describeColumn,
  describeRow,
  encodePrefix,
  encodeRow,
  encodeValue,
} from "./position.js";
import { family, table } from "./table.js";
import { codec } from "./value/custom.js";
import { int, text } from "./value/scalars.js";

const documents = table("documents", { contents: text(), anchors: family(text()) });
const visits = table("visits", { count: int() }, { key: tuple(text(), int()) });

describe("rows", () => {
  it("are encoded and decoded", () => {
    expect(decodeRow(documents[definition], encodeRow(documents[definition], "é"))).toBe("é");
    expect(decodeRow(visits[definition], encodeRow(visits[definition], ["a", -1]))).toEqual(["a", -1]);
    expect([...encodePrefix(visits[definition], ["a"])]).toEqual([0x61, 0]);
  });

  it("name the table and the key in errors", () => {
    const long = "x".repeat(limits.keyBytes + 1);
    expect(() => encodeRow(documents[definition], 5)).toThrow(
      /^Table documents, row 5: the key must be a string/,
    );
    expect(() => encodeRow(documents[definition], long)).toThrow(
      /row "x+…" \(1501 characters\).*at most 1500/,
    );
    expect(() => encodeRow(visits[definition], ["a", "b"])).toThrow(
      /^Table visits, row \["a", "b"\]: part 2/,
    );
    expect(() => encodePrefix(visits[definition], [1])).toThrow(/^Table visits, row prefix \[1\]: part 1/);
    expect(() => encodePrefix(visits[definition], "a")).toThrow(
      /^Table visits, row prefix "a": a prefix of this key is an array of its leading parts, such as \["a"\] or \["a", 1\], and of at most 2 of them, not "a"/,
    );
    expect(() => encodePrefix(visits[definition], ["a", 1, 2])).toThrow(
      /and of at most 2 of them, not 3 parts/,
    );
    expect(() => decodeRow(visits[definition], new Uint8Array([1, 2]))).toThrow(/^Table visits, row 0x0102/);
    expect(() => encodeRow(documents[definition], {})).toThrow(InvalidKeyError);
  });
});

describe("values", () => {
  it("are encoded and decoded", () => {
    const stored = encodeValue(visits.count, ["a", 1], 300);
    expect(decodeValue(visits.count, ["a", 1], stored)).toBe(300);
  });

  it("name the column and the row in errors, and keep the cause", () => {
    expect(() => encodeValue(documents.contents, "r", 5 as never)).toThrow(
      'documents.contents, row "r": expected a string, not 5',
    );
    expect(() => encodeValue(documents.anchors.at("q"), "r", 5 as never)).toThrow(
      /^documents\.anchors\["q"\]/,
    );
    expect(() => decodeValue(visits.count, ["a", 1], Buffer.from("text"))).toThrow(
      /^visits\.count, row \["a", 1\]/,
    );
    const cause = new Error("own");
    const failing = codec<number>({
      encode: () => {
        throw cause;
      },
      decode: () => 0,
    });
    const own = table("own", { c: failing });
    expect(() => encodeValue(own.c, "r", 1)).toThrow(expect.objectContaining({ cause }));
    expect(() => encodeValue(own.c, "r", 1)).toThrow(InvalidValueError);
  });
});

describe("checkCellKey", () => {
  it("limits row and qualifier together, NUL bytes counted twice", () => {
    const of = (length: number, fill: string) => Buffer.alloc(length, fill);
    checkCellKey(of(1000, "a"), of(500, "b"), "here");
    checkCellKey(of(1000, "a"), of(250, "\0"), "here");
    expect(() => checkCellKey(of(1000, "a"), of(501, "b"), "here")).toThrow(
      /^here: .*take 1501 bytes, at most 1500/,
    );
    expect(() => checkCellKey(of(1000, "a"), of(251, "\0"), () => "there")).toThrow(/^there: .*1502/);
  });
});

describe("descriptions", () => {
  it("are short for every value", () => {
    expect(describeRow(Array(50).fill(1))).toBe("[1, 1, 1, 1, 1, 1, 1, 1, …]");
    expect(describeColumn(documents.contents)).toBe("documents.contents");
    const trap = new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error("no");
        },
      },
    );
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const values = [
      "a\n",
      "x".repeat(99),
      -0,
      5n,
      undefined,
      null,
      () => 1,
      Symbol("s"),
      [1, 2],
      new Date(0),
      new Date(Number.NaN),
      {},
    ];
    const odd = [new Uint8Array(3), Object.create(null), trap, revoked.proxy];
    expect([...values, ...odd].map(describeValue)).toEqual([
      '"a\\n"',
      `"${"x".repeat(60)}…" (99 characters)`,
      "-0",
      "5n (a bigint)",
      "undefined",
      "null",
      "a function",
      "a symbol",
      "an array of 2",
      "an instance of Date",
      "an invalid Date",
      "an object",
      "a Uint8Array of 3 bytes",
      "an object",
      "a value of type object",
      "a value of type object",
    ]);
  });
});
