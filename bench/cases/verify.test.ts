import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, open } from "percolatordb";
import { afterEach, beforeEach, expect, test } from "vitest";
import { compare, type Side, WrongResultError } from "../harness/compare.js";
import { RawDatabase } from "../harness/raw.js";
import { Bench } from "./bench.js";
import { Dataset } from "./dataset.js";
import { Reads } from "./reads.js";
import { ranges, wholeTable } from "./scans.js";

const options = { only: [], quick: true, cells: 150, rounds: 1, args: [] };
const changed = 77;

let folder: string;
let bench: Bench;
let db: Database;
let raw: RawDatabase;
let data: Dataset;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "percolatordb-bench-test-"));
  bench = new Bench(options, folder);
  db = await open("memory:");
  raw = new RawDatabase(folder);
  const spec = { name: "cells", cells: options.cells, valueBytes: 100, olderVersions: 1 };
  data = await new Dataset(spec, raw).load(bench, db, raw);
});

afterEach(async () => {
  await db.close();
  await raw.close();
  rmSync(folder, { recursive: true, force: true });
});

const sides: readonly (readonly [name: string, side: () => { readonly raw: Side; readonly ours: Side }])[] = [
  ["point reads", () => ({ raw: reads().gets(), ours: reads().singleReads() })],
  ["getMany", () => ({ raw: reads().gets(), ours: reads().manyReads() })],
  ["ranges", () => ranges(bench, db, data, "")],
  ["whole tables", () => wholeTable(db, data, "")],
];

const reads = () => new Reads(bench, db, data);
const put = (row: string, value: string) => db.transact((tx) => tx.set(data.table.contents, row, value));

test.each(sides)("%s with correct results pass", async (name, side) => {
  const found = await compare({ name, unit: "cells", operations: 1, ...side() }, 1);
  expect(found.ratio.count).toBe(1);
});

test.each(sides)(
  "%s fail for a value that differs in one character, which checksums do not show",
  async (_, side) => {
    const { ours } = side();
    const before = await ours.run(0);
    await put(data.rows[changed]!, `${data.newest(changed).slice(0, -1)}#`);
    expect(await ours.run(0)).toBe(before);
    await expect(async () => ours.verify!(0)).rejects.toThrow(WrongResultError);
  },
);

test.each(sides)("%s fail for a row that is missing", async (_, side) => {
  await db.transact((tx) => tx.delete(data.table.contents, data.rows[changed]!));
  await expect(async () => side().ours.verify!(0)).rejects.toThrow(WrongResultError);
});

test("a whole table fails for a superfluous row", async () => {
  await put("zzz", "value");
  await expect(async () => wholeTable(db, data, "").ours.verify!(0)).rejects.toThrow("it was zzz");
});

test("a whole table fails if it ends too early", async () => {
  await db.transact((tx) => tx.delete(data.table.contents, data.rows.at(-1)!));
  await expect(async () => wholeTable(db, data, "").ours.verify!(0)).rejects.toThrow("it was none");
});
