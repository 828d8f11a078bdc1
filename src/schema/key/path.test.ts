import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidKeyError } from "../../errors/index.js";
import { columnPath, familyRange, isSystemPath, parsePath, qualifierBytes } from "./path.js";

const names = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,10}$/);
const qualifiers = fc.string({ unit: "binary", maxLength: 12 });

describe("paths", () => {
  it("are a name, or a name, NUL and a qualifier", () => {
    expect(columnPath("contents").toString("latin1")).toBe("contents");
    expect(columnPath("anchors", "q\0é").toString("hex")).toBe(Buffer.from("anchors\0q\0é").toString("hex"));
    expect(columnPath("anchors", "").toString("latin1")).toBe("anchors\0");
  });

  it("decode to the same parts", () => {
    fc.assert(
      fc.property(names, fc.option(qualifiers, { nil: undefined }), (name, qualifier) => {
        const path = Uint8Array.from(columnPath(name, qualifier));
        expect(parsePath(path)).toStrictEqual({ name, qualifier });
        expect(Buffer.from(qualifierBytes(path)).toString()).toBe(qualifier ?? "");
        expect(isSystemPath(path)).toBe(false);
      }),
    );
  });

  it("belong to the protocol if they begin with a tilde", () => {
    expect(isSystemPath(Buffer.from("~ack\0x"))).toBe(true);
    expect(isSystemPath(new Uint8Array(0))).toBe(false);
  });

  it("refuse invalid qualifiers, and bytes that are not a path", () => {
    expect(() => columnPath("a", "\ud800")).toThrow(InvalidKeyError);
    expect(() => columnPath("a", "x".repeat(1501))).toThrow(InvalidKeyError);
    expect(() => columnPath("a", 5 as never)).toThrow(InvalidKeyError);
    expect(() => parsePath(new Uint8Array([0xff]))).toThrow(InvalidKeyError);
    expect(() => parsePath(new Uint8Array([0x61, 0, 0xff]))).toThrow(InvalidKeyError);
  });
});

describe("familyRange", () => {
  const within = (path: Buffer, { start, end }: { start: Buffer; end: Buffer }) =>
    Buffer.compare(path, start) >= 0 && Buffer.compare(path, end) < 0;
  const atLeast = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b)) >= 0;

  it("contains a family's cells, and no other column", () => {
    fc.assert(
      fc.property(names, names, qualifiers, (name, other, qualifier) => {
        const range = familyRange(name);
        expect(within(columnPath(name, qualifier), range)).toBe(true);
        expect(within(columnPath(other), range)).toBe(false);
        expect(within(columnPath(other, qualifier), range)).toBe(other === name);
      }),
    );
    const { start, end } = familyRange("a");
    expect([start.toString("latin1"), end.toString("latin1")]).toEqual(["a\0", "a\x01"]);
  });

  it("narrows to a prefix, a start and an end", () => {
    const few = fc.string({ unit: fc.constantFrom("\0", "a", "b", "😀"), maxLength: 3 });
    const maybe = fc.option(few, { nil: undefined });
    fc.assert(
      fc.property(few, maybe, maybe, maybe, (qualifier, prefix, start, end) => {
        const expected =
          qualifier.startsWith(prefix ?? "") &&
          (start === undefined || atLeast(qualifier, start)) &&
          (end === undefined || !atLeast(qualifier, end));
        const range = familyRange("f", { prefix, start, end });
        expect(within(columnPath("f", qualifier), range)).toBe(expected);
        expect(Buffer.compare(range.start, range.end)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 1000 },
    );
  });
});
