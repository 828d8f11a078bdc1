import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { NativeEnvironment } from "../../src/store/lmdb/file/writing.js";
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

test.each(["full", "none"] as const)(
  "a group is answered after its flush, or when readers can see it: durability %s",
  async (durability) => {
    const { env } = raw.root as unknown as { readonly env: NativeEnvironment };
    const reports: number[] = [];
    const start = env.startWriting.bind(env);
    const startWatched: typeof start = (instructions, report) =>
      start(instructions, (status) => {
        reports.push(status);
        return report(status);
      });
    Object.defineProperty(env, "startWriting", { value: startWatched });
    const groups = new RawGroups(raw, durability);
    for (let index = 0; index < 50; index++) {
      reports.length = 0;
      const key = cellKey("cells", `row${index}`, "contents");
      await groups.commit([{ table: raw.table("cells"), key, value: Buffer.from("value") }]);
      // 1: readers can see the commit. 0: the flush has ended; if it was quick, that is all that is reported.
      // Never 2: LMDB's thread would wait for the main thread.
      if (durability === "full") expect(reports.filter((status) => status !== 1)).toEqual([0]);
      else expect(reports).toHaveLength(1);
      await raw.root.flushed;
    }
  },
);

test("older versions are stored after their cell, newest first", () => {
  const cell = cellKey("cells", "row", "contents");
  const keys = [cell, versionKey(cell, 20), versionKey(cell, 10), cellKey("cells", "row", "title")];
  expect([...keys].sort(Buffer.compare)).toEqual(keys);
});
