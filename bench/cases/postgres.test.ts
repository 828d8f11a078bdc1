import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "percolatordb";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newPlace } from "../../test/support/postgres/index.js";
import { WrongResultError } from "../harness/compare.js";
import { Bench } from "./bench.js";
import { postgresTables } from "./floors.js";
import { postgres } from "./postgres.js";
import { RawPostgres } from "./postgres-raw.js";
import { documents, PostgresCells } from "./postgres-specs.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "percolatordb-bench-test-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a small run compares everything that has a floor, on a durable server, and reads it back", async () => {
  const bench = new Bench({ only: [], quick: true, cells: 300, rounds: 1, args: [] }, folder);
  const { comparisons, figures, configuration } = await postgres.run(bench);
  expect(comparisons.map(({ name, operations }) => [name, operations])).toEqual([
    ["transactions of one cell on PostgreSQL, 1,000 in flight", 300],
    ["transactions of 10 cells on PostgreSQL, 200 in flight", 30],
    ["reads on PostgreSQL, 1,000 in flight, gathered", 300],
    ["getMany of 100 on PostgreSQL", 300],
    ["scans of 100 on PostgreSQL", 300],
  ]);
  expect(postgresTables(comparisons)[0]!.split("\n")).toHaveLength(2 + 3);
  expect(figures).toMatchObject([{ unit: "ms", ceiling: 20, spread: { count: 20 } }]);
  expect(configuration).toMatch(/^server_version \d.*shared_buffers 512MB, fsync on, synchronous_commit on/);
}, 300_000);

test("a value that differs from the written one is a wrong result, on either side", async () => {
  const { host, location, schema } = await newPlace();
  const raw = await RawPostgres.open(host, `raw of ${schema}`);
  try {
    await using db = await open(location, { tables: [documents] });
    const cells = new PostgresCells(db, raw, 20);
    await cells.load();
    await cells.verify();
    await raw.commit([{ key: cells.rows[3]!, value: "another" }]);
    await expect(cells.verify()).rejects.toThrow(WrongResultError);
    await raw.commit([{ key: cells.rows[3]!, value: cells.valueOf(3) }]);
    await db.transact((tx) => tx.delete(documents.contents, cells.rows[4]!));
    await expect(cells.verify()).rejects.toThrow(/must hold/);
    await db.transact((tx) => tx.set(documents.contents, cells.rows[4]!, cells.valueOf(4)));
    await raw.commit([{ key: "one more", value: "row" }]);
    await expect(cells.verify()).rejects.toThrow("21 rows were found, but 20 were written.");
  } finally {
    await raw.close();
  }
}, 60_000);
