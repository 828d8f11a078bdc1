import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../testing/conformance/harness.js";
import { readTimestamp, writeTimestamp } from "../../bytes.js";
import { CellAddress, Key, tablePrefix, timestampOfKey, writeKey } from "./key.js";

const encoded = (key: Key) => Buffer.from(key.bytes.subarray(0, key.length));
const prefix = tablePrefix("t");

function randomBytes(random: () => number): Buffer {
  // A small alphabet, so that many keys share their beginning. The encoding gives NUL, 0x01 and
  // 0xFF a meaning.
  const alphabet = [0, 0, 1, 0x61, 0xff];
  return Buffer.from(
    Array.from({ length: Math.floor(random() * 6) }, () => alphabet[Math.floor(random() * 5)]!),
  );
}

describe("keys", () => {
  it("sort as their rows and then their columns do", () => {
    const random = seededRandom(7);
    for (let i = 0; i < 20_000; i++) {
      const [rowA, rowB, columnA, columnB] = [0, 0, 0, 0].map(() => randomBytes(random));
      const a = encoded(new Key().cell(prefix, rowA!, columnA!));
      const b = encoded(new Key().cell(prefix, rowB!, columnB!));
      const expected = Buffer.compare(rowA!, rowB!) || Buffer.compare(columnA!, columnB!);
      expect(Math.sign(Buffer.compare(a, b))).toBe(expected);
    }
  });

  it("are the same if the row is written as text", () => {
    const random = seededRandom(9);
    const characters = ["a", "b", "\0", "\x01", "\x7f", "\x80", "é", "ÿ", "Ł", "\uffff", "\u{10000}"];
    const target = Buffer.alloc(4_096);
    const address = new CellAddress();
    for (let i = 0; i < 20_000; i++) {
      const length = Math.floor(random() * 12);
      const row = Array.from({ length }, () => characters[Math.floor(random() * characters.length)]).join("");
      const column = randomBytes(random);
      const key = new Key().cell(prefix, Buffer.from(row), column);
      target.fill(7);
      const end = writeKey(address.ofText(prefix, row, column), target, 3);
      expect(target.subarray(3, end)).toEqual(encoded(key));
      expect(address.sum).toBe(key.sum);
    }
    // The address is used again for a row of bytes.
    writeKey(address.of(prefix, Buffer.from("row"), Buffer.from("c")), target, 0);
    expect(address.sum).toBe(new Key().cell(prefix, Buffer.from("row"), Buffer.from("c")).sum);
    for (const row of ["x".repeat(1_805), "é".repeat(1_000), "\0".repeat(1_000)]) {
      expect(() => writeKey(address.ofText(prefix, row, Buffer.from("c")), target, 0)).toThrow(
        /too long|bytes/,
      );
    }
  });

  it("keep the versions of a cell apart from those of other cells", () => {
    const random = seededRandom(8);
    for (let i = 0; i < 5_000; i++) {
      const [row, column, otherRow, otherColumn] = [0, 0, 0, 0].map(() => randomBytes(random));
      const first = encoded(new Key().cell(prefix, row!, column!).version(Number.MAX_SAFE_INTEGER));
      const last = encoded(new Key().cell(prefix, row!, column!).version(0));
      const end = encoded(new Key().cell(prefix, row!, column!).versionsEnd());
      const other = encoded(new Key().cell(prefix, otherRow!, otherColumn!).version(5));
      expect(Buffer.compare(first, last)).toBe(-1);
      expect(Buffer.compare(last, end)).toBe(-1);
      const same = row!.equals(otherRow!) && column!.equals(otherColumn!);
      expect(Buffer.compare(other, first) >= 0 && Buffer.compare(other, end) < 0).toBe(same);
    }
  });

  it("put the newest timestamp first, and give it back", () => {
    const timestamps = [0, 1, 255, 2 ** 32 - 1, 2 ** 32, 2 ** 51 + 12_345, Number.MAX_SAFE_INTEGER];
    let last: Buffer | undefined;
    for (const timestamp of timestamps) {
      const key = new Key().cell(prefix, Buffer.from("r"), Buffer.from("c")).version(timestamp);
      expect(timestampOfKey(key.bytes, key.length)).toBe(timestamp);
      if (last !== undefined) expect(Buffer.compare(encoded(key), last)).toBe(-1);
      last = encoded(key);
      const bytes = new Uint8Array(8);
      writeTimestamp(bytes, 0, timestamp);
      expect(readTimestamp(bytes, 0)).toBe(timestamp);
    }
  });

  it("are refused if they are too long", () => {
    const long = Buffer.alloc(1_805, "k");
    expect(() => new Key().cell(prefix, long, undefined)).toThrow(/at most 1800/);
    expect(() => new Key().cell(prefix, Buffer.alloc(1_000), undefined)).toThrow(/at most 1800/);
    expect(() => new Key().cell(prefix, Buffer.alloc(1_900, "k"), Buffer.alloc(1_900, "k"))).toThrow(
      /at most 1800/,
    );
  });

  it("are refused if the table's name is empty or invalid", () => {
    for (const name of ["", "a\0b", "n".repeat(65)]) expect(() => tablePrefix(name)).toThrow(/table's name/);
  });
});
