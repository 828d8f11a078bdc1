import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidKeyError, SchemaError } from "../../errors/index.js";
import { limits } from "../limits.js";
import type { KeyPart } from "../value/codec.js";
import { codec } from "../value/custom.js";
import { json } from "../value/json.js";
import { boolean, bytes, float, int, text } from "../value/scalars.js";
import { type KeyCodec, prefixEnd } from "./key.js";
import { tuple, tupleFromTag } from "./tuple.js";

const hex = (value: Uint8Array) => Buffer.from(value).toString("hex");

interface Kind {
  readonly part: KeyPart<unknown>;
  readonly values: fc.Arbitrary<unknown>;
  compare(a: never, b: never): number;
}

const compareNumbers = (a: number, b: number) =>
  a === b ? Number(Object.is(b, -0)) - Number(Object.is(a, -0)) : a < b ? -1 : 1;

const special = fc.constantFrom(0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324, -5e-324);

const kinds: readonly Kind[] = [
  {
    part: text(),
    values: fc.string({
      unit: fc.constantFrom("\0", "\x01", "\x02", "a", "é", "\uFF61", "😀"),
      maxLength: 6,
    }),
    compare: (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b)),
  },
  {
    part: bytes(),
    values: fc
      .array(fc.constantFrom(0, 1, 2, 254, 255), { maxLength: 5 })
      .map((list) => new Uint8Array(list)),
    compare: (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b),
  },
  {
    part: int(),
    values: fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -300, max: 300 })),
    compare: (a: number, b: number) => Math.sign(a - b),
  },
  {
    part: float(),
    values: fc.oneof(fc.double({ noNaN: true }), special),
    compare: compareNumbers,
  },
  {
    part: boolean(),
    values: fc.boolean(),
    compare: (a: boolean, b: boolean) => Number(a) - Number(b),
  },
];

function compareKeys(shape: readonly Kind[], a: readonly unknown[], b: readonly unknown[]): number {
  for (const [i, kind] of shape.entries()) {
    const order = kind.compare(a[i] as never, b[i] as never);
    if (order !== 0) return order;
  }
  return 0;
}

const keyOf = (shape: readonly Kind[]): KeyCodec<readonly unknown[]> =>
  tuple(...(shape.map((kind) => kind.part) as [KeyPart<unknown>]));

/** A key shape with two keys of it. The keys often share their first parts. */
const pairs = fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 4 }).chain((shape) => {
  const key = fc.tuple(...shape.map((kind) => kind.values));
  return fc.tuple(key, key, fc.nat({ max: shape.length })).map(([a, other, shared]) => {
    return { shape, a, b: [...a.slice(0, shared), ...other.slice(shared)] };
  });
});

describe("composite keys", () => {
  it("sort by their parts", () => {
    fc.assert(
      fc.property(pairs, ({ shape, a, b }) => {
        const key = keyOf(shape);
        expect(Buffer.compare(key.encode(a), key.encode(b))).toBe(compareKeys(shape, a, b));
      }),
      { numRuns: 2000 },
    );
  });

  it.each(kinds)("sort $part.tag parts over the whole range of values", ({ part, values, compare }) => {
    const key = tuple(part);
    fc.assert(
      fc.property(values, values, (a, b) => {
        expect(Buffer.compare(key.encode([a]), key.encode([b]))).toBe(compare(a as never, b as never));
      }),
      { numRuns: 1000 },
    );
  });

  it("decode to the same value, from bytes and from text", () => {
    fc.assert(
      fc.property(pairs, ({ shape, a }) => {
        const key = keyOf(shape);
        const encoded = key.encode(a);
        const padded = Buffer.concat([Buffer.from([0]), encoded, Buffer.from([0, 0])]);
        expect(key.decode(encoded)).toStrictEqual(a);
        expect(key.decodeRange(padded, 1, padded.length - 2)).toStrictEqual(a);
        expect(key.parse(key.format(a))).toStrictEqual(a);
      }),
    );
  });

  it("have prefixes that begin the keys of those first parts, and no others", () => {
    fc.assert(
      fc.property(pairs, fc.nat({ max: 4 }), ({ shape, a, b }, length) => {
        const key = keyOf(shape);
        const start = key.prefix(a.slice(0, length));
        const end = prefixEnd(start);
        const encoded = key.encode(b);
        const inside = Buffer.compare(encoded, start) >= 0 && (!end || Buffer.compare(encoded, end) < 0);
        expect(inside).toBe(compareKeys(shape.slice(0, length), a, b) === 0);
      }),
      { numRuns: 1000 },
    );
  });

  it("of one string take the start of that string as a prefix", () => {
    const key = tuple(text());
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (prefix, value) => {
        const start = key.prefix(prefix);
        const end = prefixEnd(start);
        const encoded = key.encode([value]);
        const inside = Buffer.compare(encoded, start) >= 0 && (!end || Buffer.compare(encoded, end) < 0);
        expect(inside).toBe(value.startsWith(prefix));
      }),
      {
        numRuns: 1000,
        examples: [
          ["a\0", "a\0b"],
          ["a", "a\x01"],
          ["", "x"],
        ],
      },
    );
    expect(key.prefix(["a"])).toStrictEqual(key.encode(["a"]));
    expect(() => tuple(int()).prefix("a" as never)).toThrow(/such as \[1\]/);
  });

  it("have stable bytes", () => {
    const key = tuple(text(), bytes(), int(), float(), boolean());
    expect(key.tag).toBe("tuple(text,bytes,int,float,boolean)");
    expect(hex(key.encode(["a\0\x01\x02", new Uint8Array([0, 255]), -2, 1, true]))).toBe(
      "6101010102020001" + "01ff007ffd" + "bff000000000000002",
    );
    expect(hex(tuple(float()).encode([-0]))).toBe("7fffffffffffffff");
    expect(hex(tuple(boolean(), text()).encode([false, ""]))).toBe("0100");
  });

  it("turn -0 into 0 in an int, and keep it in a float", () => {
    expect(tuple(int()).decode(tuple(int()).encode([-0]))).toStrictEqual([0]);
    expect(tuple(int()).parse("[-0]")).toStrictEqual([0]);
    expect(tuple(float()).parse("[-0]")).toStrictEqual([-0]);
  });

  it("refuse bytes that no key encodes to", () => {
    const key = tuple(text(), int(), float(), boolean());
    const good = key.encode(["a", 1, 2, true]);
    for (let length = 0; length < good.length; length++) {
      expect(() => key.decode(good.subarray(0, length))).toThrow(InvalidKeyError);
    }
    expect(() => key.decode(Buffer.concat([good, Buffer.from([1])]))).toThrow(/left over/);
    const bad: [KeyCodec<readonly [unknown]>, string][] = [
      [tuple(text()), "010000"],
      [tuple(text()), "0100"],
      [tuple(text()), "ff00"],
      [tuple(bytes()), "0103 00".replace(" ", "")],
      [tuple(int()), "8100"],
      [tuple(float()), "fff8000000000000"],
      [tuple(boolean()), "00"],
    ];
    for (const [codec, stored] of bad) {
      expect(() => codec.decode(Buffer.from(stored, "hex"))).toThrow(/not a key of this table/);
    }
  });

  it("decode any bytes to the key that encodes to them, or refuse them", () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.uint8Array({ maxLength: 12 }), (kind, stored) => {
        const key = tuple(kind.part);
        try {
          expect(hex(key.encode(key.decode(stored)))).toBe(hex(stored));
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidKeyError);
        }
      }),
    );
  });

  it("refuse bad parts, and say which and why", () => {
    const key = tuple(text(), int(), float());
    const refused: [unknown, RegExp][] = [
      [["a", 1.5, 1], /part 2 must be a safe integer, not 1.5/],
      [["a", 2 ** 53, 1], /part 2/],
      [["a", 1, Number.NaN], /part 3 must be a number other than NaN/],
      [["\ud800", 1, 1], /part 1 must be a string without lone surrogates/],
      [["a", "1", 1], /part 2/],
      [["a", 1], /the key must be an array of 3 parts, not of 2/],
      [["a", 1, 1, 1], /not of 4/],
      ["a", /the key must be an array of 3 parts, not "a"/],
      [undefined, /not undefined/],
    ];
    for (const [bad, message] of refused) {
      expect(() => key.encode(bad as never)).toThrow(InvalidKeyError);
      expect(() => key.encode(bad as never)).toThrow(message);
      expect(() => key.format(bad as never)).toThrow(InvalidKeyError);
    }
    expect(() => key.prefix(["a", 1, 1, 1])).toThrow(/at most 3/);
    expect(() => key.prefix("a")).toThrow(InvalidKeyError);
  });

  it("keep the limit, and count NUL bytes twice", () => {
    const most = limits.keyBytes;
    const key = tuple(text(), bytes());
    expect(key.encode(["x".repeat(most - 4), new Uint8Array(0)]).length).toBe(most - 2);
    for (const bad of [
      "x".repeat(most - 3),
      "x".repeat(most + 1),
      "\x01".repeat(most / 2),
      "é".repeat(most),
    ]) {
      expect(() => key.encode([bad, new Uint8Array(0)])).toThrow(/at most 1500/);
    }
    expect(() => key.encode(["", new Uint8Array(1e6)])).toThrow(/at most 1500/);
    const floats = tuple(...(Array.from({ length: 32 }, float) as [KeyPart<number>]));
    expect(floats.encode(Array(32).fill(0) as never).length).toBe(256);
  });

  it("have a text form: a JSON array", () => {
    const key = tuple(text(), float(), bytes(), boolean());
    const written = '["a\\"b","-Infinity","AP8=",false]';
    expect(key.format(['a"b', Number.NEGATIVE_INFINITY, new Uint8Array([0, 255]), false])).toBe(written);
    expect(key.parse(written)).toStrictEqual([
      'a"b',
      Number.NEGATIVE_INFINITY,
      new Uint8Array([0, 255]),
      false,
    ]);
    for (const bad of [
      "a",
      "{}",
      "[]",
      '["a",1,"AP8=",false,1]',
      '["a",1,"AP8",false]',
      '["a","NaN","",true]',
    ]) {
      expect(() => key.parse(bad)).toThrow(InvalidKeyError);
    }
    expect(() => tuple(int()).parse("[9007199254740993]")).toThrow(InvalidKeyError);
  });
});

describe("tuple", () => {
  it("takes only codecs with an order", () => {
    const custom = codec({ encode: () => new Uint8Array(), decode: () => 0 });
    for (const part of [json(), custom, "text", { tag: "text" }, undefined]) {
      expect(() => tuple(text(), part as never)).toThrow(SchemaError);
      expect(() => tuple(text(), part as never)).toThrow(/Part 2/);
    }
    expect(() => (tuple as () => unknown)()).toThrow(/at least one part/);
    expect(() => tuple(...(Array.from({ length: 33 }, text) as [KeyPart<string>]))).toThrow(/at most 32/);
  });

  it("is rebuilt from its tag", () => {
    const key = tuple(text(), int());
    const again = tupleFromTag(key.tag);
    expect(again?.tag).toBe(key.tag);
    expect(hex(again!.encode(["a", 1]))).toBe(hex(key.encode(["a", 1])));
    for (const tag of ["text", "tuple()", "tuple(json)", "tuple(text,)", "tuple(text,int"]) {
      expect(tupleFromTag(tag)).toBeUndefined();
    }
  });
});
