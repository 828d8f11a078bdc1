import fc from "fast-check";
import { expect, test } from "vitest";
import { isSelected } from "../../transaction/index.js";
import type { ReadPart } from "./query-reads.js";
import { type ChangedCell, ReadIndex } from "./read-index.js";

const key = fc.uint8Array({ maxLength: 3, max: 3 });
const table = fc.constantFrom("a", "b");
const columns = fc.oneof(
  key.map((exact) => [{ exact }]),
  fc.tuple(key, key).map(([start, end]) => [{ start, end }]),
);
const point = fc.record({ table, row: key, columns });
const range = fc.record({
  table,
  start: fc.option(key, { nil: undefined }),
  end: fc.option(key, { nil: undefined }),
  columns,
});
const reads = fc.array(fc.oneof(point, range), { maxLength: 4 });
const step = fc.oneof(
  fc.record({ owner: fc.nat(20), reads }),
  fc.record({ owner: fc.nat(20) }),
  fc.record({ table, row: key, column: key }),
);

/** Looks at every read. */
function isAffected(parts: readonly ReadPart[], change: ChangedCell): boolean {
  return parts.some((read) => {
    if (read.table !== change.table || !isSelected(read.columns, change.column)) return false;
    if ("row" in read) return Buffer.compare(read.row, change.row) === 0;
    if (read.start !== undefined && Buffer.compare(change.row, read.start) < 0) return false;
    return read.end === undefined || Buffer.compare(change.row, read.end) < 0;
  });
}

test("the index finds the same owners as a look at every read, and is empty at the end", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 80 }), (steps) => {
      const index = new ReadIndex<number>();
      const model = new Map<number, readonly ReadPart[]>();
      for (const each of steps) {
        if ("reads" in each) {
          index.add(each.owner, each.reads);
          model.set(each.owner, each.reads);
        } else if ("owner" in each) {
          index.remove(each.owner);
          model.delete(each.owner);
        } else {
          const change = { ...each, commitTimestamp: 1 };
          const found = new Set<number>();
          index.affected(change, found);
          const wanted = [...model].filter(([, parts]) => isAffected(parts, change)).map(([owner]) => owner);
          expect([...found].sort()).toEqual(wanted.sort());
        }
        expect(index.size).toBe(model.size);
      }
      for (const owner of model.keys()) index.remove(owner);
      expect(index.isEmpty).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("ranges are found without looking at all of them, whatever the order in which they came", () => {
  const index = new ReadIndex<number>();
  const row = (number: number) => Buffer.from(String(number).padStart(6, "0"));
  const selected = [{ start: new Uint8Array(0), end: undefined }];
  for (let owner = 0; owner < 10_000; owner++) {
    index.add(owner, [{ table: "a", columns: selected, start: row(owner), end: row(owner + 1) }]);
  }
  const compare = Buffer.compare;
  let compared = 0;
  Buffer.compare = (a, b) => {
    compared++;
    return compare(a, b);
  };
  try {
    const found = new Set<number>();
    index.affected({ table: "a", row: row(1_234), column: Buffer.from("c"), commitTimestamp: 1 }, found);
    expect([...found]).toEqual([1_234]);
  } finally {
    Buffer.compare = compare;
  }
  expect(compared).toBeLessThan(500);
});
