import { describe, expect, it } from "vitest";
import { counted, cutToWidth, layOut, layOutPairs, oneLine, showBytes } from "./layout.js";

describe("layout", () => {
  it("aligns columns, numbers to the right, without trailing spaces", () => {
    const columns = [{ name: "name" }, { name: "count", align: "right" as const }, { name: "note" }];
    expect(
      layOut(columns, [
        ["a", "5", ""],
        ["longer", "12345678", "x"],
      ]),
    ).toEqual(["NAME       COUNT  NOTE", "a              5", "longer  12345678  x"]);
  });

  it("aligns values in a list", () => {
    expect(
      layOutPairs([
        ["a", "1"],
        ["long", ""],
      ]),
    ).toEqual(["a     1", "long"]);
  });

  it("shows bytes in their largest unit", () => {
    expect([0, 1, 1_023, 1_024, 1_572_864, 3 * 1_024 ** 4, 5_000 * 1_024 ** 4].map(showBytes)).toEqual([
      "0 bytes",
      "1 byte",
      "1023 bytes",
      "1.0 KiB",
      "1.5 MiB",
      "3.0 TiB",
      "5000.0 TiB",
    ]);
  });

  it("keeps text on its line", () => {
    expect(oneLine("a\nb\tc\r\u0000\u001b[31m\u009b\u2028é")).toBe(
      "a\\nb\\tc\\r\\u0000\\u001b[31m\\u009b\\u2028é",
    );
  });

  it("escapes what hides or reorders text, except what joins letters or emoji", () => {
    expect(oneLine("a\u202eb\u2066c\u200bd\u200fe\ufeff")).toBe("a\\u202eb\\u2066c\\u200bd\\u200fe\\ufeff");
    expect(oneLine("می\u200cخواهم 👩\u200d🚀")).toBe("می\u200cخواهم 👩\u200d🚀");
  });

  it("cuts to a width if there is one", () => {
    expect([cutToWidth("abcdef", 4), cutToWidth("abcd", 4), cutToWidth("abcdef", undefined)]).toEqual([
      "abc…",
      "abcd",
      "abcdef",
    ]);
  });

  it("counts with the right noun", () => {
    expect([counted(0, "row"), counted(1, "row"), counted(2, "row")]).toEqual(["0 rows", "1 row", "2 rows"]);
  });
});
