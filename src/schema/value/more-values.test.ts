import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bigint,
  codecFromTag,
  date,
  definition,
  describeTable,
  formatValue,
  oneOf,
  parseValue,
  table,
  tableFromDescription,
  valueToJson,
} from "../index.js";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

describe("dates", () => {
  it("are encoded to bytes and text, and decoded", () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true }), (value) => {
        expect(date().decode(date().encode(value))).toStrictEqual(value);
        expect(parseValue("date", formatValue("date", value))).toStrictEqual(value);
      }),
    );
    expect(hex(date().encode(new Date(0)))).toBe("80");
    expect(valueToJson(new Date(0))).toBe("1970-01-01T00:00:00.000Z");
  });

  it("refuse values that are not a valid date", () => {
    for (const wrong of [new Date(Number.NaN), 5, "2026-01-01", null]) {
      expect(() => date().encode(wrong as Date)).toThrow(/expected a valid Date/);
    }
    for (const wrong of ["2026", "2026-02-30T00:00Z", "2026-01-01T00:00", "2026-13-01T00:00Z", "yesterday"]) {
      expect(() => parseValue("date", wrong)).toThrow(/is not a moment in ISO 8601/);
    }
    expect(parseValue("date", "2026-11-22T20:20+01:00")).toStrictEqual(new Date("2026-11-22T19:20:00Z"));
    // One millisecond beyond the range of a Date.
    expect(() => date().decode(Buffer.from("871eb208c2dc0001", "hex"))).toThrow(/are not a date/);
    expect(() => date().decode(Buffer.alloc(0))).toThrow(/are not a date/);
  });
});

describe("bigints", () => {
  it("take the fewest bytes that hold them, and are decoded", () => {
    fc.assert(
      fc.property(fc.bigInt(), (value) => {
        const bytes = bigint().encode(value);
        expect(bigint().decode(bytes)).toBe(value);
        expect(BigInt.asIntN(bytes.length * 8, value)).toBe(value);
        expect(bytes.length === 1 || BigInt.asIntN(bytes.length * 8 - 8, value) !== value).toBe(true);
        expect(parseValue("bigint", formatValue("bigint", value))).toBe(value);
      }),
    );
    const written = [0n, 127n, 128n, -1n, -128n, -129n, 2n ** 64n].map((value) =>
      hex(bigint().encode(value)),
    );
    expect(written).toEqual(["00", "7f", "0080", "ff", "80", "ff7f", "010000000000000000"]);
    expect(valueToJson(2n ** 64n)).toBe("18446744073709551616");
  });

  it("refuse numbers, other text, and bytes that no bigint encodes to", () => {
    expect(() => bigint().encode(1 as never)).toThrow(/expected a bigint/);
    expect(() => parseValue("bigint", "1.5")).toThrow(/is not an integer/);
    for (const wrong of ["", "0001", "ffff"]) {
      expect(() => bigint().decode(Buffer.from(wrong, "hex"))).toThrow(/are not a bigint/);
    }
  });
});

describe("a choice", () => {
  const state = oneOf("open", "paid");

  it("is one of its strings", () => {
    expect(state.decode(state.encode("paid"))).toBe("paid");
    expect(() => state.encode("lost" as never)).toThrow(/expected "open" or "paid", not "lost"/);
    expect(() => state.decode(Buffer.from("lost"))).toThrow(/expected "open" or "paid"/);
    expect(() => oneOf(...([] as unknown as ["a"]))).toThrow(/oneOf\(\) takes the strings/);
    expect(() => oneOf("a", 5 as never)).toThrow(/not 5/);
  });

  it("a program that does not know the choices can read the column, but not write it", () => {
    const orders = table("orders", { state });
    const untyped = tableFromDescription(describeTable(orders[definition]))[definition];
    const { codec } = untyped.columns.get("state")!;
    expect(codec!.decode(Buffer.from("open"))).toBe("open");
    expect(() => codec!.encode("open")).toThrow(/To write the column, give that module/);
    expect(parseValue(state, "paid")).toBe("paid");
  });
});

it("all but choices have a codec without a module", () => {
  expect([codecFromTag("date"), codecFromTag("bigint"), codecFromTag("oneOf")]).toEqual([
    date(),
    bigint(),
    undefined,
  ]);
});
