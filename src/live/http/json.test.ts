import { describe, expect, test } from "vitest";
import { decodeJson } from "../client/json.js";
import { encodeJson } from "./json.js";

describe("what a client reads", () => {
  test.each([
    [undefined],
    [{ value: "a" }],
    [[undefined, null, 1]],
    [{ list: [[undefined]], at: new Date(5), count: -12n }],
    [
      new Map<unknown, unknown>([
        ["a", undefined],
        [new Set([undefined, 2]), new Map()],
      ]),
    ],
    [new Uint8Array([0, 1, 255])],
    [[Number.NaN, Number.NEGATIVE_INFINITY, -0, 0, 1e300]],
    [{ $undefined: true }],
    [{ $$undefined: { $set: "mine" } }],
    [{ $date: 1, $map: 2 }],
    [{ $unknown: [new Date(0)] }],
    [""],
    [{}],
  ])("%o is what the server sent", (value) => {
    expect(decodeJson(encodeJson(value))).toStrictEqual(value);
  });

  test("a property of any name stays a property", () => {
    const text = '{"__proto__":{"constructor":[1]}}';
    expect(JSON.stringify(decodeJson(encodeJson(JSON.parse(text))))).toBe(text);
  });
});
