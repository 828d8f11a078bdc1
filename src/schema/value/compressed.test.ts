import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, expectTypeOf, it } from "vitest";
import { InvalidArgumentError, InvalidValueError, SchemaError } from "../../errors/index.js";
import { type ColumnDescription, compareTables, describeTable, mergeTables, plainCodec } from "../catalog.js";
import {
  bytes,
  type Codec,
  codec,
  compressed,
  definition,
  formatValue,
  inflated,
  json,
  limits,
  parseValue,
  table,
  tableFromDescription,
  text,
  tuple,
} from "../index.js";
import { oneOf } from "./one-of.js";

const page = "<p>a page that repeats itself</p>\n".repeat(40);
const hex = (stored: Uint8Array) => Buffer.from(stored).toString("hex");

/** Stored bytes that say they are a value of `length` bytes. */
function saying(length: number, stream: Uint8Array): Buffer {
  const head = Buffer.from([0xff, 0, 0, 0, 0]);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, stream]);
}

describe("compressed values", () => {
  it("are read as they were written, within any buffer", () => {
    const units = [0, 0x61, 0xfb, 0xfc, 0xfe, 0xff].map((byte) => fc.constant(byte));
    const runs = fc.array(fc.tuple(fc.oneof(...units, fc.nat(255)), fc.integer({ min: 1, max: 600 })));
    const values = runs.map((each) => Buffer.concat(each.map(([byte, times]) => Buffer.alloc(times, byte))));
    fc.assert(
      fc.property(
        values,
        fc.integer({ min: 1, max: 700 }),
        fc.integer({ min: 1, max: 9 }),
        (value, minBytes, level) => {
          const of = compressed(bytes(), { minBytes, level });
          const stored = of.encode(value);
          expect(stored.length).toBeLessThanOrEqual(value.length + 1);
          expect(hex(of.decode(stored))).toBe(hex(value));
          const around = Buffer.concat([Buffer.from([0xff]), stored, Buffer.from([0xff])]);
          expect(hex(of.decodeRange!(around, 1, 1 + stored.length))).toBe(hex(value));
          // The options do not matter to a reader.
          expect(hex(compressed(bytes()).decode(stored))).toBe(hex(value));
          expect(hex(inflated(stored))).toBe(hex(value));
        },
      ),
    );
  });

  it("of any codec: text, JSON with a schema, and a program's own", () => {
    expect(compressed(text()).decode(compressed(text()).encode(page))).toBe(page);
    const links = Array.from({ length: 99 }, (_, index) => `https://example.org/${index}`);
    expect(compressed(json()).decode(compressed(json()).encode(links))).toEqual(links);
    const turned = codec<string>({
      encode: (value) => Buffer.from(value).reverse(),
      decode: (stored) => Buffer.from(stored).reverse().toString(),
    });
    const own = compressed(turned);
    expect([own.tag, own.decodesInPlace]).toEqual(["compressed(custom)", false]);
    expect(own.decode(own.encode(page))).toBe(page);
    expectTypeOf(own).toEqualTypeOf<Codec<string>>();
  });

  it("are compressed from `minBytes` on, and only if they become shorter", () => {
    const of = compressed(text(), { minBytes: 100 });
    expect(hex(of.encode("a".repeat(99)))).toBe(hex(Buffer.alloc(99, "a")));
    expect(of.encode("a".repeat(100)).length).toBeLessThan(20);
    expect(compressed(text()).encode("a".repeat(255))).toHaveLength(255);
    expect(compressed(text()).encode("a".repeat(256)).length).toBeLessThan(20);
    const noise = Uint8Array.from(
      { length: 1_000 },
      (_, index) => (index * index * 7919 + (index >> 3)) & 0xff,
    );
    const packed = deflateRawSync(noise);
    expect(hex(compressed(bytes()).encode(packed))).toBe(hex(packed));
  });

  it("begin with a marker only if their own bytes begin like one", () => {
    const of = compressed(bytes());
    expect(hex(of.encode(Buffer.from([0xfb, 1])))).toBe("fb01");
    for (const first of [0xfc, 0xfd, 0xfe, 0xff]) {
      expect(hex(of.encode(Buffer.from([first, 1])))).toBe(`fe${first.toString(16)}01`);
    }
    expect(of.encode(new Uint8Array(0))).toHaveLength(0);
    expect(of.decode(new Uint8Array(0))).toHaveLength(0);
  });

  it("are as long as any value before they are compressed, and no longer", () => {
    const of = compressed(text());
    const longest = "a".repeat(limits.valueBytes);
    expect(of.decode(of.encode(longest))).toBe(longest);
    expect(() => of.encode(`${longest}a`)).toThrow(/too long/);
    const noise = Buffer.alloc(limits.valueBytes);
    let state = 1;
    for (let at = 0; at < noise.length; at++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
      noise[at] = state >>> 24;
    }
    noise[0] = 0xff;
    expect(() => compressed(bytes()).encode(noise)).toThrow(/too long/);
    noise[0] = 0;
    expect(compressed(bytes()).encode(noise)).toHaveLength(limits.valueBytes);
  });
});

describe("damage to a compressed value", () => {
  const of = compressed(text());
  const stored = of.encode(page);
  const damaged = (change: (bytes: Buffer) => Uint8Array) => () => of.decode(change(Buffer.from(stored)));
  const length = Buffer.byteLength(page);

  it("fails like that to any value", () => {
    const changes: ((bytes: Buffer) => Uint8Array)[] = [
      (all) => all.subarray(0, 1),
      (all) => all.subarray(0, 5),
      (all) => all.subarray(0, all.length - 1),
      (all) => saying(length - 1, all.subarray(5)),
      (all) => saying(length + 1, all.subarray(5)),
      (all) => saying(0, all.subarray(5)),
      (all) => all.fill(0xff, 5),
      (all) => all.fill(0xfd, 0, 1),
      (all) => all.fill(0xfc, 0, 1),
      // Its bytes are no UTF-8.
      () => saying(300, deflateRawSync(Buffer.alloc(300, 0xff))),
    ];
    for (const change of changes) {
      expect(damaged(change)).toThrow(InvalidValueError);
      expect(damaged(change)).toThrow(
        /stored bytes are not .*: another codec wrote the column, or it is damaged/,
      );
      expect(damaged((all) => inflatedOrText(change(all)))).toThrow(InvalidValueError);
    }
  });

  function inflatedOrText(bytes: Uint8Array): Uint8Array {
    return text().encode(text().decode(inflated(bytes)));
  }

  it("never makes a value longer than allowed, or than it says", () => {
    const bomb = deflateRawSync(Buffer.alloc(limits.valueBytes + 1));
    expect(() => of.decode(saying(limits.valueBytes + 1, bomb))).toThrow(InvalidValueError);
    expect(() => of.decode(saying(0xffff_ffff, bomb))).toThrow(InvalidValueError);
    const cause = expect.objectContaining({ code: "ERR_BUFFER_TOO_LARGE" });
    expect(() => of.decode(saying(100, bomb))).toThrow(
      expect.objectContaining({ code: "INVALID_VALUE", cause }),
    );
    expect(
      of.decode(saying(limits.valueBytes, deflateRawSync(Buffer.alloc(limits.valueBytes)))),
    ).toHaveLength(limits.valueBytes);
  });
});

describe("the declaration", () => {
  it("refuses what cannot be compressed, and wrong options", () => {
    expect(() => compressed(compressed(text()))).toThrow(SchemaError);
    expect(() => compressed("text" as never)).toThrow(/takes a codec such as text\(\)/);
    for (const options of [
      { minBytes: 0 },
      { minBytes: 1.5 },
      { minBytes: 1e9 },
      { level: 0 },
      { level: 10 },
    ]) {
      expect(() => compressed(text(), options)).toThrow(SchemaError);
    }
    expect(() => compressed(text(), { levle: 1 } as never)).toThrow(InvalidArgumentError);
    expect(() => tuple(compressed(text()) as never)).toThrow(SchemaError);
  });
});

describe("the catalog", () => {
  const z = {
    "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) },
  } as const;
  const pages = table("pages", {
    html: compressed(text()),
    image: compressed(bytes()),
    links: compressed(json()),
    strict: compressed(json(z)),
    state: compressed(oneOf("open", "closed")),
    own: compressed(codec<string>({ encode: () => Buffer.from(page), decode: () => "" })),
  });
  const described = describeTable(pages[definition]);

  it("records that a column is compressed, and commands read and write it", () => {
    const tags = described.columns.map(({ codec }) => codec);
    expect(tags).toEqual(
      ["text", "bytes", "json", "json", "oneOf", "custom"].map((tag) => `compressed(${tag})`),
    );
    const columns = tableFromDescription(described)[definition].columns;
    const html = columns.get("html")!.codec!;
    expect(hex(html.encode(page))).toBe(hex(pages.html.codec.encode(page)));
    expect(html.decode(pages.html.codec.encode(page))).toBe(page);
    const own = columns.get("own")!.codec!;
    expect(hex(own.decode(pages.own.codec.encode("")) as Uint8Array)).toBe(hex(Buffer.from(page)));
    expect(() => own.encode(Buffer.alloc(1))).toThrow(/has a custom codec \(custom\), which only the module/);
    expect(() => columns.get("strict")!.codec!.encode({})).toThrow(/has a schema/);
    expect(() => columns.get("state")!.codec!.encode("open")).toThrow(SchemaError);
    expect(plainCodec("compressed(oneOf)").decode(pages.state.codec.encode("open"))).toBe("open");
    expect(describeTable(tableFromDescription(described)[definition])).toStrictEqual(described);
  });

  it("shows and takes values as without compression", () => {
    expect(formatValue(pages.links.codec, "x")).toBe('"x"');
    expect(parseValue(pages.image.codec, "AQI=")).toEqual(new Uint8Array([1, 2]));
    expect(() => parseValue(pages.own.codec, "x")).toThrow(SchemaError);
  });

  const recorded = (codec: string) => described_("pages", [{ name: "html", kind: "column", codec }]);
  const described_ = (name: string, columns: readonly ColumnDescription[]) => ({
    name,
    key: "text",
    columns,
  });

  it("lets a column of UTF-8 become compressed, and no other", () => {
    for (const tag of ["text", "json", "oneOf"]) {
      const [before, now] = [recorded(tag), recorded(`compressed(${tag})`)];
      expect(compareTables(before, now)).toEqual({ additions: [], clashes: [], hasNewMarks: true });
      expect(mergeTables(before, now)).toEqual(now);
    }
    for (const tag of ["bytes", "custom", "bigint", "date"]) {
      const { clashes } = compareTables(recorded(tag), recorded(`compressed(${tag})`));
      expect(clashes).toEqual([
        `column pages.html is recorded as column of ${tag}, but declared as column of compressed(${tag}) ` +
          `(a value of ${tag} could be taken for a compressed one: declare a new column, and copy the values)`,
      ]);
    }
    expect(compareTables(recorded("compressed(text)"), recorded("text")).clashes[0]).toMatch(
      /stays compressed/,
    );
    expect(compareTables(recorded("json"), recorded("compressed(text)")).clashes[0]).toMatch(
      /of compressed\(text\)$/,
    );
  });

  it("may do so, because no value of such a column begins with a marker", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.jsonValue(), (string, value) => {
        expect(compressed(text()).decode(text().encode(string))).toBe(string);
        const stored = json().encode(value);
        expect(compressed(json()).decode(stored)).toStrictEqual(json().decode(stored));
      }),
    );
  });
});
