import { type Database, open } from "percolatordb";
import { beforeEach, describe, expect, test } from "vitest";
import { compare, WrongResultError } from "../harness/compare.js";
import { rowOf } from "../harness/data.js";
import { documents, fill, type Measured, readSpec, transactionSpec } from "./bigtable-specs.js";

const rows = Array.from({ length: 20 }, (_, cell) => rowOf(cell));

/** A separate table whose mutations put values. */
class RawTable {
  readonly values = new Map<string, Buffer>();

  async mutate(row: Buffer, _column: Buffer, _timestamp: number, value: Buffer): Promise<boolean> {
    this.values.set(row.toString(), value);
    return true;
  }

  async read(row: Buffer): Promise<Uint8Array | undefined> {
    return this.values.get(row.toString());
  }
}

let db: Database;
let raw: RawTable;

beforeEach(async () => {
  db = await open("memory:", { tables: [documents] });
  raw = new RawTable();
  return () => db.close();
});

const measured = (gathered = false): Measured => ({ db, raw, rows, operations: 15, gathered });

/** Overwrites a row without the measurement's knowledge. */
const overwrite = (row: string, value: string) => db.transact((tx) => tx.set(documents.contents, row, value));

test("figures with batched requests have their own names, and no floor", () => {
  expect([transactionSpec, readSpec].map((specOf) => specOf(measured()).name)).toEqual([
    "transactions of one cell, 64 in flight",
    "reads of one cell, 64 in flight",
  ]);
  const gathered = [transactionSpec, readSpec].map((specOf) => specOf(measured(true)));
  expect(gathered.map(({ name, floor }) => [name, floor])).toEqual([
    ["transactions of one cell, 64 in flight, gathered", undefined],
    ["reads of one cell, 64 in flight, gathered", undefined],
  ]);
});

describe("transactions", () => {
  test("pass if all rounds were written", async () => {
    expect((await compare(transactionSpec(measured()), 3)).samples.ours).toHaveLength(3);
  });

  test.each([0, 19])("fail if row %i has a wrong value in any round", async (cell) => {
    const { ours } = transactionSpec(measured());
    for (const round of [0, 1]) {
      await ours.run(round);
      await ours.verify!(round);
    }
    await overwrite(rows[cell]!, "other");
    await expect(async () => ours.verify!(1)).rejects.toThrow(WrongResultError);
  });

  test("fail if a row is missing", async () => {
    const { ours } = transactionSpec(measured());
    await ours.run(0);
    const [first] = await rowsOf();
    await db.transact((tx) => tx.delete(documents.contents, first!));
    await expect(async () => ours.verify!(0)).rejects.toThrow("holds nothing");
  });

  test("fail if an unexpected row exists", async () => {
    const { ours } = transactionSpec(measured());
    await ours.run(0);
    await overwrite("zzz", "value");
    await expect(async () => ours.verify!(0)).rejects.toThrow("must hold nothing");
  });

  test("fail if the raw table has a wrong value", async () => {
    const spec = transactionSpec(measured());
    await spec.raw.run(0);
    await spec.raw.verify!(0);
    raw.values.set([...raw.values.keys()][3]!, Buffer.from("other"));
    await expect(async () => spec.raw.verify!(0)).rejects.toThrow(WrongResultError);
  });

  async function rowsOf(): Promise<string[]> {
    const found: string[] = [];
    await using snapshot = await db.snapshot();
    for await (const { row } of snapshot.scan(documents.contents)) found.push(row);
    return found;
  }
});

describe("reads", () => {
  /** Stands in for the raw table. It reads from the database of the test, and refuses to write. */
  const records = {
    mutate: () => Promise.reject(new Error("not here")),
    async read(row: Buffer, _column: Buffer, at: number) {
      await using snapshot = await db.snapshot({ at });
      const value = await snapshot.get(documents.contents, row.toString());
      return value === undefined ? undefined : Buffer.from(`123456789${value}`);
    },
  };
  const reading = (): Measured => ({ ...measured(), raw: records });

  test("pass if each row has the value that was written", async () => {
    await fill(reading());
    expect((await compare(readSpec(reading()), 3)).samples.ours).toHaveLength(3);
  });

  test.each([
    ["another value of the same length", (value: string) => `${value.slice(0, -1)}#`],
    ["none", () => undefined],
  ])("fail on both sides if a row has %s", async (_, change) => {
    await fill(reading());
    await using snapshot = await db.snapshot();
    const value = change((await snapshot.get(documents.contents, rows[7]!))!);
    await db.transact((tx) => {
      if (value === undefined) tx.delete(documents.contents, rows[7]!);
      else tx.set(documents.contents, rows[7]!, value);
    });
    const spec = readSpec({ ...reading(), operations: rows.length });
    for (const side of [spec.raw, spec.ours]) {
      await side.run(0);
      await expect(async () => side.verify!(0)).rejects.toThrow(WrongResultError);
    }
  });
});
