import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inFlight } from "./compare.js";
import { cellKey, RawDatabase, RawGroups, versionKey } from "./raw.js";

let folder: string;
let raw: RawDatabase;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "percolatordb-bench-test-"));
  raw = new RawDatabase(folder);
});

afterEach(async () => {
  await raw.close();
  rmSync(folder, { recursive: true, force: true });
});

test.each(["full", "none"] as const)("groups execute every put, durability %s", async (durability) => {
  const groups = new RawGroups(raw, durability);
  const table = raw.table("cells");
  await inFlight(300, 50, (index) =>
    groups.commit([
      { table, key: cellKey("cells", `row${index}`, "contents"), value: Buffer.from(`${index}`) },
    ]),
  );
  await raw.root.flushed;
  const found = Array.from({ length: 300 }, (_, index) =>
    table.bytes.get(cellKey("cells", `row${index}`, "contents"))?.toString(),
  );
  expect(found).toEqual(Array.from({ length: 300 }, (_, index) => `${index}`));
});

test("a group that is answered before its flush can be read then", async () => {
  const groups = new RawGroups(raw, "none");
  const table = raw.table("cells");
  for (let index = 0; index < 50; index++) {
    const key = cellKey("cells", `row${index}`, "contents");
    await groups.commit([{ table, key, value: Buffer.from("value") }]);
    raw.root.resetReadTxn();
    expect(table.bytes.get(key)?.toString()).toBe("value");
  }
});

test("older versions are stored after their cell, newest first", () => {
  const cell = cellKey("cells", "row", "contents");
  const keys = [cell, versionKey(cell, 20), versionKey(cell, 10), cellKey("cells", "row", "title")];
  expect([...keys].sort(Buffer.compare)).toEqual(keys);
});
