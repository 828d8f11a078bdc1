import vm from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InvalidValueError, SchemaError } from "../../errors/index.js";
import { limits } from "../limits.js";
import { json } from "./json.js";
import type { StandardSchema } from "./standard-schema.js";

const any = json<unknown>();
const encode = (value: unknown) => () => any.encode(value);

function throwing(answer: () => unknown): StandardSchema<unknown, unknown> {
  return { "~standard": { version: 1, vendor: "test", validate: answer as never } };
}

describe("json", () => {
  it("decodes to any encoded JSON value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const expected = JSON.parse(JSON.stringify(value)) as unknown;
        expect(any.decode(any.encode(value))).toStrictEqual(expected);
      }),
    );
  });

  it("keeps strings that UTF-8 alone could not carry", () => {
    expect(any.decode(any.encode(["\ud800", "😀", "\0"]))).toEqual(["\ud800", "😀", "\0"]);
  });

  it("refuses values that JSON would change, and names the place", () => {
    const refused: [unknown, RegExp][] = [
      [undefined, /the value: it is undefined/],
      [{ a: { b: [undefined] } }, /at \.a\.b\[0\]: it is undefined/],
      [[1, undefined], /at \[1\]/],
      // biome-ignore lint/suspicious/noSparseArray: the empty place is the point
      [[1, , 2], /at \[1\]: it is undefined/],
      [{ "a b": [() => 1] }, /at \["a b"\]\[0\]: it is a function/],
      [{ n: Number.NaN }, /at \.n: NaN would become null/],
      [[Number.NEGATIVE_INFINITY], /-Infinity would become null/],
      [{ big: 1n }, /at \.big: it is 1n \(a bigint\)/],
      [{ s: Symbol("s") }, /at \.s: it is a symbol/],
      [{ [Symbol("hidden")]: 1 }, /whose name is the symbol Symbol\(hidden\)/],
      [{ at: new Date(0) }, /at \.at: it is an instance of Date/],
      [new Map(), /instance of Map/],
      [new Uint8Array(2), /instance of Uint8Array/],
      [new (class Point {})(), /instance of Point/],
      [{ rows: new (class Rows extends Array {})() }, /at \.rows: it is an instance of Rows/],
      [Object.create({ inherited: 1 }), /instance/],
    ];
    for (const [value, message] of refused) {
      expect(encode(value)).toThrow(InvalidValueError);
      expect(encode(value)).toThrow(message);
    }
  });

  it("leaves out properties that are undefined", () => {
    const stored = any.encode({ a: undefined, b: [{ c: undefined, d: null }] });
    expect(Buffer.from(stored).toString()).toBe('{"b":[{"d":null}]}');
    const noted = json(z.object({ title: z.string(), note: z.string().optional() }));
    expect(noted.decode(noted.encode({ title: "t", note: undefined }))).toStrictEqual({ title: "t" });
  });

  it("refuses cycles and deep nesting, but not a value that occurs twice", () => {
    const loop: Record<string, unknown> = {};
    loop.in = { self: loop };
    expect(encode(loop)).toThrow(/at \.in\.self: it contains itself/);
    let deep: unknown = 1;
    for (let i = 0; i < 501; i++) deep = [deep];
    expect(encode(deep)).toThrow(/more than 500 deep/);
    const twice = { n: 1 };
    expect(any.decode(any.encode([twice, twice]))).toEqual([twice, twice]);
  });

  it("refuses a value whose getter throws", () => {
    const bad = {
      get x(): number {
        throw new Error("no x");
      },
    };
    expect(encode(bad)).toThrow(/no x/);
    expect(encode(bad)).toThrow(InvalidValueError);
  });

  it("takes objects without a prototype, and those of another realm", () => {
    const bare = Object.assign(Object.create(null) as object, { n: 1 });
    expect(any.decode(any.encode(bare))).toEqual({ n: 1 });
    expect(any.decode(any.encode(vm.runInNewContext("({ n: [1] })")))).toEqual({ n: [1] });
  });

  it("leaves out the named properties of an array", () => {
    expect(any.decode(any.encode(/b/.exec("abc")))).toStrictEqual(["b"]);
  });

  it("pollutes no prototype", () => {
    const stored = Buffer.from('{"__proto__":{"polluted":true}}');
    const read = any.decode(stored) as Record<string, unknown>;
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect(Object.hasOwn(read, "__proto__")).toBe(true);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Buffer.from(any.encode(read)).toString()).toBe(stored.toString());
  });

  it("refuses stored bytes that are not JSON, and values over the limit", () => {
    expect(() => any.decode(Buffer.from("{"))).toThrow(InvalidValueError);
    expect(() => any.decode(Buffer.from([0x22, 0xff, 0x22]))).toThrow(InvalidValueError);
    expect(() => any.decode(Buffer.alloc(0))).toThrow(InvalidValueError);
    expect(encode("x".repeat(limits.valueBytes - 1))).toThrow(/too long/);
    expect(any.encode("x".repeat(limits.valueBytes - 2)).length).toBe(limits.valueBytes);
  });
});

describe("json with a schema", () => {
  const page = json(z.object({ title: z.string(), tags: z.array(z.string()).default([]) }));

  it("validates written values, and stores the schema's output", () => {
    const encoded = page.encode({ title: "t", more: 1 } as never);
    expect(JSON.parse(Buffer.from(encoded).toString())).toEqual({ title: "t", tags: [] });
    expect(() => page.encode({ title: "t", tags: ["a", 5] } as never)).toThrow(/\(at \.tags\[1\]\)/);
    expect(() => page.encode({ title: 5 } as never)).toThrow(InvalidValueError);
  });

  it("validates values when it reads them", () => {
    expect(page.decode(Buffer.from('{"title":"t"}'))).toEqual({ title: "t", tags: [] });
    expect(() => page.decode(Buffer.from('{"title":5}'))).toThrow(/schema refuses the value/);
  });

  it("refuses a schema that returns a promise", () => {
    const slow = json(z.string().refine(() => Promise.resolve(true)));
    expect(() => slow.encode("x")).toThrow(/asynchronously/);
    const failing = json(throwing(() => Promise.reject(new Error("later"))));
    expect(() => failing.encode("x")).toThrow(/asynchronously/);
  });

  it("wraps errors of the schema, and refuses invalid results", () => {
    const failing = json(
      throwing(() => {
        throw new Error("broken schema");
      }),
    );
    expect(() => failing.encode("x")).toThrow(/broken schema/);
    expect(() => failing.decode(Buffer.from("1"))).toThrow(InvalidValueError);
    expect(() => json(throwing(() => undefined)).encode("x")).toThrow(InvalidValueError);
  });

  it("lists few of many issues", () => {
    const issues = Array.from({ length: 9 }, (_, i) => ({ message: `m${i}`, path: [{ key: i }] }));
    expect(() => json(throwing(() => ({ issues }))).encode("x")).toThrow(/m4 \(at \[4\]\); and 4 more/);
  });

  it("refuses an object that is not a Standard Schema", () => {
    expect(() => json({} as never)).toThrow(SchemaError);
    expect(() => json(null as never)).toThrow(SchemaError);
  });
});
