import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidValueError } from "../../errors/index.js";
import { tuple } from "../key/tuple.js";
import { limits } from "../limits.js";
import type { Codec } from "./codec.js";
import { codec } from "./custom.js";
import { boolean, bytes, float, int, text } from "./scalars.js";

const hex = (value: Uint8Array) => Buffer.from(value).toString("hex");

function roundTrip<V>(codec: Codec<V>, value: V): V {
  const encoded = codec.encode(value);
  const middle = Buffer.concat([Buffer.from([7]), encoded, Buffer.from([7])]);
  const ranged = codec.decodeRange?.(middle, 1, middle.length - 1);
  const decoded = codec.decode(Uint8Array.from(encoded));
  expect(ranged).toStrictEqual(decoded);
  return decoded;
}

describe("every codec", () => {
  const anyText = fc.string({ unit: "binary" });
  const cases: [string, Codec<unknown>, fc.Arbitrary<unknown>][] = [
    ["text", text(), anyText],
    ["bytes", bytes(), fc.uint8Array()],
    ["int", int(), fc.maxSafeInteger()],
    ["float", float(), fc.double()],
    ["boolean", boolean(), fc.boolean()],
  ];

  it.each(cases)("%s decodes to the encoded value", (tag, codec, values) => {
    expect(codec.tag).toBe(tag);
    fc.assert(
      fc.property(values, (value) => {
        expect(roundTrip(codec, value)).toStrictEqual(value);
      }),
    );
  });

  it.each(cases)("%s decodes foreign bytes to a value, or refuses them", (_, codec) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 10 }), (stored) => {
        try {
          const value = codec.decode(stored);
          if (Number.isNaN(value)) return; // Reads accept any NaN, but writes use a single one.
          expect(hex(codec.encode(value))).toBe(hex(stored));
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidValueError);
        }
      }),
    );
  });

  it.each(cases)("%s refuses values of other types", (tag, codec) => {
    const others = [undefined, null, {}, [], () => 1, 1n, Symbol("s"), new Date(0), Number.NaN, "x", 1, true];
    for (const other of others) {
      const own = { text: "string", int: "none", float: "number", boolean: "boolean", bytes: "none" }[tag];
      if (typeof other === own || (tag === "int" && other === 1)) continue;
      expect(() => codec.encode(other as never)).toThrow(InvalidValueError);
    }
  });
});

describe("text", () => {
  it("keeps empty strings, NUL, byte order marks and characters beyond the first plane", () => {
    for (const value of ["", "\0", "a\0b", "\uFEFFa", "\uFFFD", "😀", "é"]) {
      expect(roundTrip(text(), value)).toBe(value);
    }
  });

  it("refuses lone surrogates, and says at which index and what to do", () => {
    expect(() => text().encode("ab\ud800")).toThrow(/lone surrogate at index 2.*toWellFormed/);
    expect(() => text().encode("\udc00\ud83d")).toThrow(/index 0/);
  });

  it("refuses stored bytes that are not UTF-8", () => {
    expect(() => text().decode(new Uint8Array([0xff, 0x41]))).toThrow(InvalidValueError);
    expect(() => text().decode(new Uint8Array([0xed, 0xa0, 0x80]))).toThrow(InvalidValueError);
  });

  it("keeps the limit in bytes, not characters", () => {
    const most = limits.valueBytes;
    expect(text().encode("x".repeat(most)).length).toBe(most);
    expect(() => text().encode("x".repeat(most + 1))).toThrow(/at most 10000000 bytes/);
    expect(() => text().encode("é".repeat(most / 2 + 1))).toThrow(InvalidValueError);
    expect(text().encode("é".repeat(most / 2)).length).toBe(most);
  });
});

describe("bytes", () => {
  it("copies its input and its output", () => {
    const given = Buffer.from([1, 2, 3]);
    const encoded = bytes().encode(given);
    given[0] = 9;
    expect([...encoded]).toEqual([1, 2, 3]);
    const lent = Buffer.from([4, 5]);
    const read = bytes().decode(lent);
    lent[0] = 9;
    expect(read).toStrictEqual(new Uint8Array([4, 5]));
  });

  it("refuses bytes whose memory was transferred, also as a part of a key", () => {
    const sent = Uint8Array.of(1, 2);
    structuredClone(sent, { transfer: [sent.buffer] });
    const refused = /not a Uint8Array whose memory was transferred/;
    expect(() => bytes().encode(sent)).toThrow(refused);
    expect(() => tuple(bytes()).encode([sent])).toThrow(refused);
    expect(() => codec({ encode: () => sent, decode: () => 1 }).encode(1)).toThrow(refused);
    for (const empty of [new Uint8Array(0), Uint8Array.of(1).subarray(1), Buffer.alloc(0)]) {
      expect([...bytes().encode(empty)]).toEqual([]);
      expect(tuple(bytes()).encode([empty]).length).toBeGreaterThan(0);
    }
  });

  it("keeps the limit", () => {
    expect(() => bytes().encode(new Uint8Array(limits.valueBytes + 1))).toThrow(InvalidValueError);
  });
});

describe("int", () => {
  it("writes the fewest bytes, always the same", () => {
    const written = [0, 1, -1, 255, 256, -256, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
    expect(written.map((value) => hex(int().encode(value)))).toEqual([
      "80",
      "8101",
      "7ffe",
      "81ff",
      "820100",
      "7efeff",
      "871fffffffffffff",
      "79e0000000000000",
    ]);
  });

  it("turns -0 into 0", () => expect(roundTrip(int(), -0)).toBe(0));

  it("refuses values that are not safe integers", () => {
    for (const value of [1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -(2 ** 53)]) {
      expect(() => int().encode(value)).toThrow(/safe integer/);
    }
  });

  it("refuses bytes that are longer than needed, or beyond the safe integers", () => {
    for (const stored of ["", "8100", "81", "8000", "7fff", "8720000000000000", "ff", "00"]) {
      expect(() => int().decode(Buffer.from(stored, "hex"))).toThrow(InvalidValueError);
    }
  });
});

describe("float", () => {
  it("keeps NaN, the infinities and -0", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 5e-324]) {
      expect(roundTrip(float(), value)).toBe(value);
    }
    expect(hex(float().encode(1))).toBe("3ff0000000000000");
    expect(hex(float().encode(-0))).toBe("8000000000000000");
  });
});

describe("boolean", () => {
  it("writes one byte", () => {
    expect([hex(boolean().encode(false)), hex(boolean().encode(true))]).toEqual(["00", "01"]);
  });
});
