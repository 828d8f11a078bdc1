import { expect, test, vi } from "vitest";
import type { Columns } from "../../store/index.js";
import { ReadSet } from "./read-set.js";

const row = Buffer.from("r");
const columnOf = (index: number): Columns => [{ exact: Buffer.from(`c${index}`) }];

test("a read of a wide row is compared with few of the row's other reads", () => {
  const reads = new ReadSet();
  const compare = vi.spyOn(Buffer, "compare");
  for (const _ of [1, 2]) {
    for (let index = 0; index < 1_000; index++) reads.row("t", row, columnOf(index));
  }
  expect(compare.mock.calls.length).toBeLessThan(500);
  compare.mockRestore();
  expect(reads.rows().map(({ columns }) => columns)).toEqual(
    Array.from({ length: 1_000 }, (_, index) => columnOf(index)),
  );
});

test("reads of different columns of a row are all kept, however many there are", () => {
  const reads = new ReadSet();
  for (let index = 0; index < 20; index++) reads.row("t", row, columnOf(index));
  const [start, end] = [Buffer.from("a"), Buffer.from("b")];
  const others: Columns[] = [
    [{ start, end }],
    [{ start, end: undefined }],
    [{ start: end, end }],
    [{ exact: start }],
    [{ exact: start }, { exact: end }],
    [{ exact: Buffer.from("ab") }],
  ];
  for (const columns of [...others, ...others]) reads.row("t", row, columns);
  reads.row("t", Buffer.from("s"), columnOf(0));
  expect(reads.rows().slice(20, -1)).toEqual(others.map((columns) => ({ table: "t", row, columns })));
  expect(reads.rows()).toHaveLength(27);
});
