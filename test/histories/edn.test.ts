import { expect, test } from "vitest";
import { readEdn, writeEdn } from "./edn.js";
import { checkWellFormed, type Operation } from "./operations.js";

const operations: readonly Operation[] = [
  {
    index: 0,
    time: 1_500,
    type: "invoke",
    process: 3,
    value: [
      { f: "r", key: 7, value: null },
      { f: "append", key: "a key \"'\n", value: 4 },
    ],
  },
  {
    index: 1,
    time: 2_500,
    type: "ok",
    process: 3,
    value: [
      { f: "r", key: 7, value: [1, 2] },
      { f: "append", key: "a key \"'\n", value: 4 },
    ],
  },
  { index: 2, type: "invoke", process: 4, value: [{ f: "w", key: 1, value: "x" }] },
  { index: 3, type: "info", process: 4, value: [{ f: "w", key: 1, value: "x" }] },
];

test("a history is written with one line for each operation, and read back", () => {
  const text = writeEdn(operations);
  expect(text.split("\n")[1]).toBe(
    '{:index 1, :time 2500, :type :ok, :process 3, :f :txn, :value [[:r 7 [1 2]] [:append "a key \\"\'\\n" 4]]}',
  );
  expect(readEdn(text)).toEqual(operations);
  expect(readEdn(`[${text}]`)).toEqual(operations);
  expect(checkWellFormed(operations)).toEqual([]);
});

test.each([
  ["{:index 0, :type :invoke", /ends too early/],
  ["{:index 0, :type :done, :process 0, :value []}", /Operation 0 lacks a part/],
  ["{:index 0, :type :ok, :process 0, :value [[:add 1 2]]}", /Operation 0 has a part that is no read/],
  ["{:index 0.5}", /"0.5" is no EDN of a history/],
])("%s is refused", (text, message) => {
  expect(() => readEdn(text)).toThrow(message);
});
