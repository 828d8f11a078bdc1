import { describe, expect, test } from "vitest";
import { bytes, compressed, definition, int, json, table, text, tuple } from "../../schema/index.js";
import { cellName, columnText, rowText } from "./cells.js";
import { makeId, readId } from "./ids.js";
import { isInternalColumn } from "./internal.js";
import { cutText, valueShown } from "./values.js";

const visits = table("visits", { seconds: int() }, { key: tuple(text(), int()) });
const tables = { names: ["visits"], table: (name: string) => (name === "visits" ? visits : undefined) };

describe("names", () => {
  test("of columns are those of the commands, also for records of the protocol", () => {
    expect(columnText(Buffer.from("title"))).toBe("title");
    expect(columnText(Buffer.from("links\0a:b"))).toBe("links:a:b");
    expect(columnText(Buffer.from("~ack\0titles\0body"))).toBe("~ack titles body");
    expect(columnText(Buffer.from("~ack\0titles\0links\0q"))).toBe("~ack titles links:q");
    expect(columnText(Buffer.alloc(0))).toBe("*");
  });

  test("of the protocol's records are internal, those of a program's columns are not", () => {
    expect(isInternalColumn(tables, "visits", columnText(Buffer.from("~parked\0titles\0body")))).toBe(true);
    expect(isInternalColumn(tables, "visits", "seconds")).toBe(false);
    expect(isInternalColumn(tables, "percolator_past", "moment")).toBe(true);
  });

  test("of rows are those of the commands, and fall back to bytes for unknown tables", () => {
    const row = visits[definition].key.encode(["a", 7]);
    expect(rowText(tables, "visits", row)).toBe('["a",7]');
    expect(cellName(tables, { table: "visits", row, column: Buffer.from("seconds") }).row).toBe('["a",7]');
    expect(rowText(tables, "other", Buffer.from("plain"))).toBe("plain");
    expect(rowText(tables, "visits", Buffer.of(0xff, 0))).toBe("0xff00");
    expect(rowText(tables, "visits", Buffer.alloc(0))).toBe("");
  });
});

describe("values", () => {
  test("are cut if they are long, and never within a character", () => {
    expect(cutText("abc", 3)).toEqual({ text: "abc", isCut: false });
    expect(cutText("ab😀", 3)).toEqual({ text: "ab", isCut: true });
    expect(valueShown(text(), Buffer.from("x".repeat(10)), 4)).toEqual({
      text: "xxxx",
      bytes: 10,
      isCut: true,
    });
  });

  test("that are huge are decoded only in part", () => {
    const bytes = Buffer.alloc(3 * 2 ** 20, "y");
    const shown = valueShown({ ...text(), decode: () => expect.unreachable() }, bytes, 10);
    expect(shown).toEqual({ text: "yyyyyyyyyy", bytes: bytes.length, isCut: true });
    expect(valueShown(undefined, bytes, 8).text).toBe("eXl5eXl5");
  });

  test("that are compressed are decoded, however many bytes they have", () => {
    const long = "again ".repeat(1_000);
    const stored = compressed(text()).encode(long);
    expect(valueShown(compressed(text()), stored, 8)).toEqual({
      text: "again ag",
      bytes: stored.length,
      isCut: true,
    });
    // An incompressible text, so that the stored bytes are more than are decoded of other values.
    let state = 1;
    const noise = Buffer.alloc(3 * 2 ** 20, "y");
    for (let at = 0; at < noise.length; at++) {
      state = (state * 16_807) % 2_147_483_647;
      noise[at] = state >> 8;
    }
    const image = compressed(bytes());
    expect(valueShown(image, image.encode(noise), 8).text).toBe(noise.toString("base64").slice(0, 8));
  });

  test("that cannot be decoded are shown as bytes", () => {
    expect(valueShown(json(), Buffer.from("{"), 10)).toEqual({ text: "ew==", bytes: 1, isCut: false });
  });
});

test("ids decode to the parts that they encode, and other texts are refused", () => {
  const parts = ["a\0b", 7, null];
  expect(readId(makeId(parts), 3)).toEqual(parts);
  for (const id of ["", "x", makeId(["a"]), Buffer.from('[[],1,"a"]').toString("base64url")]) {
    expect(() => readId(id, 3)).toThrow("is not an id");
  }
});
