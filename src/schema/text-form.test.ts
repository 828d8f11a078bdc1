import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidValueError, SchemaError } from "../errors/index.js";
import { codecFromTag } from "./catalog.js";
import { formatValue, parseValue, valueToJson } from "./text-form.js";
import { codec } from "./value/custom.js";
import { boolean, bytes, float, int, text } from "./value/scalars.js";

describe("values as text", () => {
  it.each([
    ["text", fc.string({ unit: "binary" })],
    ["bytes", fc.uint8Array()],
    ["int", fc.maxSafeInteger()],
    ["float", fc.double()],
    ["boolean", fc.boolean()],
    ["json", fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown)],
  ] as const)("parse to the same value: %s", (tag, values) => {
    fc.assert(
      fc.property(values as fc.Arbitrary<unknown>, (value) => {
        expect(parseValue(tag, formatValue(tag, value))).toStrictEqual(value);
        expect(formatValue(codecFromTag(tag)!, value)).toBe(formatValue(tag, value));
      }),
    );
  });

  it("are parsed strictly", () => {
    const refused: [string, string[]][] = [
      ["int", ["", " 1", "1.0", "1e3", "0x10", "9007199254740993", "NaN", "one"]],
      ["float", ["", "1 ", "0x10", "1,5", "infinite", "infinity", "-INFINITY", "nan", ".", "1e", "--1"]],
      ["boolean", ["", "TRUE", "1", "yes"]],
      ["bytes", ["A", "AP8", "AP8=\n", "é"]],
      ["json", ["", "{a:1}", "undefined"]],
    ];
    for (const [tag, texts] of refused) {
      for (const given of texts) expect(() => parseValue(tag, given)).toThrow(InvalidValueError);
    }
  });

  it("may have a sign or a minus zero", () => {
    expect([parseValue(int(), "+5"), parseValue(int(), "-0")]).toEqual([5, -0]);
    const floats = ["1.", ".5", "-1E-3", "NaN", "+Infinity", "-Infinity"].map((given) =>
      parseValue(float(), given),
    );
    expect(floats).toEqual([1, 0.5, -0.001, Number.NaN, Infinity, -Infinity]);
    expect([parseValue(boolean(), "true"), parseValue("json", "null"), parseValue(text(), "")]).toEqual([
      true,
      null,
      "",
    ]);
    expect(parseValue(bytes(), "AP8=")).toEqual(new Uint8Array([0, 255]));
  });

  it("of a custom codec are shown, but cannot be parsed", () => {
    const custom = codec({ encode: () => new Uint8Array(), decode: () => new Date(0) });
    expect(() => parseValue(custom, "x")).toThrow(SchemaError);
    expect(formatValue(custom, new Date(0))).toBe("1970-01-01T00:00:00.000Z");
    expect(formatValue(custom, new Uint8Array([255]))).toBe("/w==");
    expect(formatValue(custom, 5n)).toBe("5");
    expect(formatValue(custom, undefined)).toBe("undefined");
  });
});

describe("valueToJson", () => {
  it("keeps JSON values, and turns others into text", () => {
    const values = [
      "a",
      1.5,
      true,
      null,
      { a: [1] },
      Number.NaN,
      -Infinity,
      new Uint8Array([255]),
      5n,
      new Date(0),
    ];
    expect(values.map(valueToJson)).toEqual([
      "a",
      1.5,
      true,
      null,
      { a: [1] },
      "NaN",
      "-Infinity",
      "/w==",
      "5",
      "1970-01-01T00:00:00.000Z",
    ]);
  });
});
