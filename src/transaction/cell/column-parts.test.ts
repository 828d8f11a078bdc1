import { expect, test } from "vitest";
import type { Columns } from "../../store/index.js";
import { columnsBelow, columnsFrom } from "./column-parts.js";

const bytes = (text: string) => Buffer.from(text);
const exact = (text: string) => ({ exact: bytes(text) });
const range = (start: string, end?: string) => ({
  start: bytes(start),
  end: end === undefined ? undefined : bytes(end),
});

test.each<{ name: string; columns: Columns; below: Columns; from: Columns }>([
  { name: "a column before it", columns: [exact("l")], below: [exact("l")], from: [] },
  { name: "the column at it", columns: [exact("m")], below: [], from: [exact("m")] },
  { name: "a range up to it", columns: [range("a", "m")], below: [range("a", "m")], from: [] },
  { name: "a range from it on", columns: [range("m", "z")], below: [], from: [range("m", "z")] },
  {
    name: "a range around it",
    columns: [range("a", "z")],
    below: [range("a", "m")],
    from: [range("m", "z")],
  },
  { name: "a range without an end", columns: [range("a")], below: [range("a", "m")], from: [range("m")] },
])("columns are divided at a place without a gap: $name", ({ columns, below, from }) => {
  expect(columnsBelow(columns, bytes("m"))).toEqual(below);
  expect(columnsFrom(columns, bytes("m"))).toEqual(from);
});
