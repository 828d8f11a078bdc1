import { open } from "percolatordb";
import { expect, test } from "vitest";
import { type BulkResult, describeBulk, isRightBulk } from "./figure.js";
import { clusters, contentsOf, derive, documentOf, documents, partsOf } from "./tables.js";

const shape = { rows: 40, bytes: 60 };

test("the load makes what the observer makes", async () => {
  await using loaded = await open("memory:", { tables: [documents, clusters], observers: [derive] });
  await loaded.load("documents", partsOf(shape));
  await using observed = await open("memory:", { tables: [documents, clusters], observers: [derive] });
  for (let index = 0; index < shape.rows; index++) {
    const contents = contentsOf(index, shape);
    await observed.transact((tx) => tx.set(documents.contents, documentOf(index), contents));
  }
  await observed.drain();
  const contents: unknown[] = [];
  for (const db of [loaded, observed]) {
    await using snapshot = await db.snapshot();
    const rows: unknown[] = [];
    for (const table of [documents, clusters]) for await (const row of snapshot.scan(table)) rows.push(row);
    contents.push(rows);
  }
  expect(contents[0]).toHaveLength(2 * shape.rows);
  expect(contents[0]).toEqual(contents[1]);
});

test("the ratios are those of rounds, and a missing row is wrong", () => {
  const of = (seconds: number, rows = 80) => ({ seconds, cpuSeconds: 2 * seconds, rows, due: 0 });
  const result: BulkResult = {
    options: { ...shape, rounds: 1 },
    sides: { load: [of(1)], observers: [of(6)], transactions: [of(4)] },
  };
  expect(describeBulk(result).join("\n")).toContain("| 7 | 6.00 (6.00 to 6.00) |");
  expect(describeBulk(result).join("\n")).toContain("an observer: met");
  expect(isRightBulk(result)).toBe(true);
  expect(isRightBulk({ ...result, sides: { ...result.sides, load: [of(1, 79)] } })).toBe(false);
});
