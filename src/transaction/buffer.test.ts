import fc from "fast-check";
import { expect, test } from "vitest";
import type { Position } from "../store/index.js";
import { type BufferedWrite, compareAddresses, WriteBuffer } from "./buffer.js";

const bytes = fc.uint8Array({ maxLength: 2, max: 3 });
const position = fc.record({ row: bytes, column: fc.option(bytes, { nil: undefined }) });
const write = fc.record({ table: fc.constantFrom("a", "b"), row: bytes, column: bytes });

const compare = (one: Position, other: Position) =>
  compareAddresses(addressOf(one), addressOf(other)) as number;
const addressOf = ({ row, column = new Uint8Array(0) }: Position) => ({ table: "", row, column });

test("a range of the writes has the last write to each of its cells, in order, whenever it is read", () => {
  const step = fc.record({ write, from: position, to: fc.option(position, { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const buffer = new WriteBuffer(1e6);
      const all = new Map<string, BufferedWrite>();
      for (const [index, { write, from, to }] of steps.entries()) {
        const own = { ...write, value: Uint8Array.of(index) };
        buffer.set(own);
        all.set(JSON.stringify([own.table, [...own.row], [...own.column]]), own);
        const expected = [...all.values()]
          .filter(({ table }) => table === "a")
          .filter((each) => compare(each, from) >= 0 && (to === undefined || compare(each, to) < 0))
          .sort(compare);
        expect(buffer.between("a", from, to)).toEqual(expected);
      }
    }),
  );
});

test("a write and a read of its row look at few of the other writes", () => {
  let looks = 0;
  const buffer = new WriteBuffer(1e9);
  const count = 5_000;
  const order = Array.from({ length: count }, (_, index) => (index * 1_237) % count);
  for (const index of order) {
    const row = Buffer.from(String(index).padStart(5, "0"));
    buffer.set({
      table: "a",
      get row() {
        looks++;
        return row;
      },
      column: Buffer.from("c"),
      value: undefined,
    });
    expect(buffer.between("a", { row }, { row: Buffer.concat([row, Buffer.of(0)]) })).toHaveLength(1);
  }
  expect(buffer.between("a", { row: Buffer.of(0) }, undefined)).toHaveLength(count);
  const rows = buffer.all().map(({ row }) => String(row));
  expect(rows).toEqual([...rows].sort());
  expect(looks).toBeLessThan(count * 150);
});
