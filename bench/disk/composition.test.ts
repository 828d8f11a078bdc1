import { mkdtempSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytes, open, table } from "percolatordb";
import { expect, test } from "vitest";
import { compositionOf, totalOf } from "./composition.js";

const pages = table("pages", { body: bytes(), size: bytes() });

test("every byte of a file is counted once, under the column that it is of", async () => {
  const folder = mkdtempSync(join(tmpdir(), "percolatordb-disk-"));
  try {
    const db = await open(folder, { tables: [pages], collectEveryMs: 0 });
    for (const round of [1, 2]) {
      await db.transact((tx) => {
        for (let index = 0; index < 500; index++) {
          tx.set(pages.body, `row ${index}`, Buffer.alloc(index === 7 ? 100_000 : 3_000, round));
          tx.set(pages.size, `row ${index}`, Buffer.of(round));
        }
      });
    }
    await db.close();
    const { bytes: all, columns, branches, room, free } = compositionOf(folder);
    expect(all).toBe(statSync(join(folder, "data.mdb")).size);
    const column = (name: string) => columns.find((each) => each.name === name)!;
    // Each value has a few bytes of the protocol before it.
    expect(column("pages.body").values).toBeGreaterThanOrEqual(499 * 3_000);
    expect(column("pages.body").values).toBeLessThan(499 * 3_000 + 500 * 40);
    expect(column("pages.body, older").values).toBeGreaterThanOrEqual(499 * 3_000 + 2 * 100_000);
    expect(column("pages.size")).toMatchObject({ records: 500 });
    expect(column("pages.size").older).toBeGreaterThanOrEqual(500);
    const sum = columns.reduce((total, each) => total + totalOf(each), branches + room + free);
    // The two pages that describe the state, the tree of databases, and the list of free pages.
    expect(all - sum).toBeGreaterThanOrEqual(0);
    expect(all - sum).toBeLessThan(16 * 4_096);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
