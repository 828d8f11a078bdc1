import { expect, test, vi } from "vitest";
import { apply, rejection, type Tables } from "./mutate.js";
import { MemoryTable } from "./table.js";

const [row, noValue] = [Buffer.from("r"), new Uint8Array(0)];
const columnOf = (index: number) => Buffer.from(String(index).padStart(5, "0"));

test("a guard of some columns of a wide row looks at few of its other cells", () => {
  const tables: Tables = new Map();
  for (let index = 0; index < 10_000; index++) {
    const put = {
      type: "put",
      column: columnOf(index),
      part: "write",
      timestamp: 5,
      value: noValue,
    } as const;
    apply(tables, { table: "t", row, guards: [], mutations: [put] }, 5);
  }
  let looks = 0;
  const from = MemoryTable.prototype.from;
  const spy = vi.spyOn(MemoryTable.prototype, "from").mockImplementation(function* (this: MemoryTable, key) {
    for (const cell of from.call(this, key)) {
      looks++;
      yield cell;
    }
  });
  const answer = (above: number) => {
    const columns = [{ start: columnOf(9_000), end: columnOf(9_010) }];
    const absent = [{ part: "write", from: above, to: Number.POSITIVE_INFINITY }] as const;
    const range = { table: "t", start: row, end: Buffer.from("r\0"), columns, absent };
    return rejection(tables, { rows: [], ranges: [range] }, 9);
  };
  expect(answer(6)).toBeUndefined();
  expect(answer(5)).toEqual({ answer: "rejected", range: 0 });
  expect(looks).toBeLessThan(100);
  spy.mockRestore();
});
