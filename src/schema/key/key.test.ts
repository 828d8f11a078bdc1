import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidKeyError } from "../../errors/index.js";
import { limits } from "../limits.js";
import { isKeyCodec, keyCost, keyPrefix, prefixEnd, textKey } from "./key.js";

const anyText = fc.string({ unit: "binary", maxLength: 40 });

/** Compares strings by their code points: the order of their UTF-8 bytes. */
function compareCodePoints(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = left[i]!.codePointAt(0)! - right[i]!.codePointAt(0)!;
    if (difference !== 0) return Math.sign(difference);
  }
  return Math.sign(left.length - right.length);
}

describe("string keys", () => {
  it("decode to the same string", () => {
    fc.assert(
      fc.property(anyText, (key) => {
        const encoded = textKey.encode(key);
        expect(textKey.decode(encoded)).toBe(key);
        expect(
          textKey.decodeRange(Buffer.concat([encoded, encoded]), encoded.length, encoded.length * 2),
        ).toBe(key);
        expect(textKey.parse(textKey.format(key))).toBe(key);
      }),
    );
  });

  it("sort by code points, unlike JavaScript's comparison", () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        expect(Buffer.compare(textKey.encode(a), textKey.encode(b))).toBe(compareCodePoints(a, b));
      }),
    );
    expect("\uFF61" < "😀").toBe(false);
    expect(Buffer.compare(textKey.encode("\uFF61"), textKey.encode("😀"))).toBe(-1);
  });

  it("refuse values other than strings, and lone surrogates", () => {
    for (const key of [undefined, null, 5, ["a"], {}, Symbol("s")]) {
      expect(() => textKey.encode(key as never)).toThrow(InvalidKeyError);
      expect(() => textKey.prefix(key)).toThrow(InvalidKeyError);
    }
    expect(() => textKey.encode("a\udc00")).toThrow(/lone surrogate at index 1/);
    expect(() => textKey.parse("a\udc00")).toThrow(InvalidKeyError);
  });

  it("keep the limit, and count NUL bytes twice", () => {
    const most = limits.keyBytes;
    expect(textKey.encode("x".repeat(most)).length).toBe(most);
    expect(textKey.encode("\0".repeat(most / 2)).length).toBe(most / 2);
    for (const key of [
      "x".repeat(most + 1),
      "\0".repeat(most / 2 + 1),
      "é".repeat(most / 2 + 1),
      "x".repeat(1e6),
    ]) {
      expect(() => textKey.encode(key)).toThrow(/at most 1500.*hash/);
    }
  });

  it("refuse stored bytes that are not UTF-8", () => {
    expect(() => textKey.decode(new Uint8Array([0xc0]))).toThrow(InvalidKeyError);
  });

  it("are recognized by their brand", () => {
    expect(isKeyCodec(textKey)).toBe(true);
    expect(isKeyCodec({ ...textKey })).toBe(true);
    expect([isKeyCodec({}), isKeyCodec(null), isKeyCodec("text")]).toEqual([false, false, false]);
  });
});

describe("prefixes", () => {
  it("begin the keys that begin with them, and no others", () => {
    fc.assert(
      fc.property(anyText, anyText, (prefix, key) => {
        const [start, encoded] = [keyPrefix(textKey, prefix), textKey.encode(key)];
        const end = prefixEnd(start);
        const inside = Buffer.compare(encoded, start) >= 0 && (!end || Buffer.compare(encoded, end) < 0);
        expect(inside).toBe(key.startsWith(prefix));
      }),
    );
  });

  it("end at the first bytes after all keys that begin with them", () => {
    const ends = [[1], [1, 0xff], [1, 0xff, 0xff], [0xff], []].map((bytes) =>
      prefixEnd(new Uint8Array(bytes)),
    );
    expect(ends.map((end) => end && [...end])).toEqual([[2], [2], [2], undefined, undefined]);
    const given = Buffer.from([1, 2]);
    prefixEnd(given);
    expect([...given]).toEqual([1, 2]);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5 }), fc.uint8Array({ maxLength: 7 }), (prefix, other) => {
        const end = prefixEnd(prefix);
        const begins = Buffer.compare(other.subarray(0, prefix.length), prefix) === 0;
        const inside = Buffer.compare(other, prefix) >= 0 && (!end || Buffer.compare(other, end) < 0);
        expect(inside).toBe(begins);
      }),
    );
  });
});

describe("keyCost", () => {
  it("counts NUL bytes twice", () => {
    expect(keyCost(new Uint8Array([0, 1, 0, 2, 0]))).toBe(8);
    expect(keyCost(new Uint8Array(0))).toBe(0);
  });
});
