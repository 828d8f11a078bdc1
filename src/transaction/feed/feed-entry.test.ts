import { describe, expect, test } from "vitest";
import { StoreDamagedError, StoreVersionError } from "../../errors/index.js";
import { decodeFeedEntry, encodeFeedEntry } from "./feed-entry.js";

const cellOf = (row: string) => ({ table: "pages", row: Buffer.from(row), column: Buffer.from("body") });
const writes = [
  { ...cellOf("a"), value: Buffer.from("x") },
  { ...cellOf(""), value: undefined },
];
const handledOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    observer: `o${index}`,
    cell: cellOf(`row ${index}`),
    upTo: 2 ** 52 + index,
    isParked: index === 1,
  }));

describe("an entry of a feed", () => {
  test.each([
    [0, 1],
    [1, 2],
    [2, 3],
    [300, 3],
  ])("that has handled %i cells has form %i, and is read again", (count, form) => {
    const entry = { label: "é", observer: undefined, handled: handledOf(count), writes };
    const bytes = encodeFeedEntry(entry);
    expect(bytes[0]).toBe(form);
    expect(decodeFeedEntry(bytes)).toEqual(entry);
    expect(decodeFeedEntry(encodeFeedEntry({ ...entry, writes: [] }))).toEqual({ ...entry, writes: [] });
  });

  test("that was cut or has no form is damaged, and one of a newer form is of another version", () => {
    const bytes = encodeFeedEntry({ label: undefined, observer: "o", handled: handledOf(2), writes: [] });
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeFeedEntry(bytes.subarray(0, length)), `${length}`).toThrow(StoreDamagedError);
    }
    expect(() => decodeFeedEntry(Buffer.of(0))).toThrow("it begins with 0");
    expect(() => decodeFeedEntry(Buffer.of(4, ...bytes.subarray(1)))).toThrow(StoreVersionError);
  });
});
