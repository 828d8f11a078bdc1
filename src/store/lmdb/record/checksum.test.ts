import { expect, it } from "vitest";
import { checksum } from "./checksum.js";

const sum = (text: string, seed = 0) => checksum(Buffer.from(text), 0, text.length, seed) >>> 0;

it("is XXH32", () => {
  // The test vectors of xxHash and of its other implementations.
  expect(sum("")).toBe(0x02cc5d05);
  expect(sum("a")).toBe(0x550d7456);
  expect(sum("abc")).toBe(0x32d153ff);
  expect(sum("Nobody inspects the spammish repetition")).toBe(0xe2293b2f);
});

it("depends only on the bytes, not on their position", () => {
  const text = Buffer.from("Nobody inspects the spammish repetition");
  for (let offset = 0; offset < 9; offset++) {
    const bytes = Buffer.concat([Buffer.alloc(offset, 7), text, Buffer.alloc(offset, 9)]).subarray(
      offset >> 1,
    );
    const start = offset - (offset >> 1);
    expect(checksum(bytes, start, start + text.length, 5)).toBe(checksum(text, 0, text.length, 5));
  }
});

it("changes with every bit, and with the seed", () => {
  for (const length of [1, 3, 4, 15, 16, 17, 40, 70]) {
    const bytes = Buffer.alloc(length, "0123456789abcdef");
    const whole = checksum(bytes, 0, length, 1);
    expect(checksum(bytes, 0, length, 2)).not.toBe(whole);
    for (let bit = 0; bit < 8 * length; bit++) {
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      expect(checksum(bytes, 0, length, 1)).not.toBe(whole);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
    }
  }
});
