import { fileURLToPath } from "node:url";
import { LoadError, open } from "percolatordb";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { ProgramProcess } from "../support/program-process.js";
import { until } from "../support/waiting.js";
import { contentsOf, documents, longSiteOf, observersOf, partsOf, tables } from "./app.js";

const site = longSiteOf(400);
const child = fileURLToPath(new URL("child.ts", import.meta.url));

test("killed while it loads, beside another process, the load continues and equals one that was not", async () => {
  const folder = await temporaryFolder();
  const runs = { count: 0 };
  try {
    await using db = await open(folder.path, { tables, observers: observersOf(runs) });
    for (const batches of [1, 3]) {
      const loading = new ProgramProcess(child, [folder.path]);
      try {
        const stored = () => loading.lines.filter((line) => line.startsWith("stored")).length;
        expect(await until(() => stored() >= batches || loading.hasEnded)).toBe(true);
        // This process sees nothing, and may not write.
        expect(await contentsOf(db)).toEqual({ documents: [], clusters: [], inlinks: [] });
        const write = db.transact((tx) => tx.set(documents.contents, "https://site/1", "mine"));
        await expect(write).rejects.toBeInstanceOf(LoadError);
      } finally {
        await loading.kill();
      }
      expect(await db.check()).toEqual([]);
    }
    expect(await db.loads()).toMatchObject([{ name: "first", state: "loading" }]);
    const report = await db.load("first", partsOf(site));
    const loaded = await contentsOf(db);
    await using whole = await open("memory:", { tables, observers: observersOf(runs) });
    const expected = await whole.load("first", partsOf(site));
    expect(report).toEqual(expected);
    expect(loaded).toEqual(await contentsOf(whole));
    await db.drain();
    expect(runs.count).toBe(0);
    expect(await db.check()).toEqual([]);
  } finally {
    await folder.remove();
  }
}, 120_000);
