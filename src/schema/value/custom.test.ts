import { describe, expect, it } from "vitest";
import { InvalidValueError } from "../../errors/index.js";
import { limits } from "../limits.js";
import { adoptCodec, codec } from "./custom.js";
import { text } from "./scalars.js";

const bigints = codec<bigint>({
  encode: (value) => Buffer.from(value.toString()),
  decode: (stored) => BigInt(Buffer.from(stored).toString()),
});

describe("codec", () => {
  it("encodes and decodes with its functions", () => {
    expect(bigints.tag).toBe("custom");
    expect(bigints.decode(bigints.encode(2n ** 70n))).toBe(2n ** 70n);
    expect(bigints.decodeRange?.(Buffer.from("x12x"), 1, 3)).toBe(12n);
  });

  it("wraps their errors", () => {
    const cause = new RangeError("odd");
    const failing = codec<string>({
      encode: () => {
        throw cause;
      },
      decode: () => {
        throw cause;
      },
    });
    for (const act of [() => failing.encode("x"), () => failing.decode(new Uint8Array(1))]) {
      expect(act).toThrow(InvalidValueError);
      expect(act).toThrow(expect.objectContaining({ cause, message: expect.stringContaining("odd") }));
    }
    expect(() => bigints.decode(Buffer.from("no number"))).toThrow(InvalidValueError);
  });

  it("copies bytes in both directions", () => {
    const shared = new Uint8Array([1, 2]);
    let seen: Uint8Array | undefined;
    const keeping = codec<number>({
      encode: () => shared,
      decode: (stored) => {
        seen = stored;
        return 0;
      },
    });
    const encoded = keeping.encode(0);
    shared[0] = 9;
    expect([...encoded]).toEqual([1, 2]);
    const lent = Buffer.from([3]);
    keeping.decode(lent);
    lent[0] = 9;
    expect(seen).toEqual(new Uint8Array([3]));
  });

  it("refuses results that are not bytes, too many bytes, and options that are not functions", () => {
    const encoding = (encoded: unknown) => codec({ encode: () => encoded as Uint8Array, decode: () => 0 });
    for (const encoded of ["text", undefined, Promise.resolve(new Uint8Array(1)), new ArrayBuffer(1), [1]]) {
      expect(() => encoding(encoded).encode(0)).toThrow(/expected a Uint8Array/);
    }
    expect(() => encoding(new Uint8Array(limits.valueBytes + 1)).encode(0)).toThrow(/too long/);
    expect(() => codec({ encode: 1, decode: 2 } as never)).toThrow(/two functions/);
  });
});

describe("adoptCodec", () => {
  it("keeps codecs of the package, and makes others custom, with their `this`", () => {
    expect(adoptCodec(text())).toBe(text());
    class Own {
      readonly tag = "text";
      readonly mark = 7;
      encode() {
        return new Uint8Array([this.mark]);
      }
      decode() {
        return this.mark;
      }
    }
    const adopted = adoptCodec(new Own());
    expect([adopted.tag, adopted.encode(0)[0], adopted.decode(new Uint8Array(0))]).toEqual(["custom", 7, 7]);
  });
});
