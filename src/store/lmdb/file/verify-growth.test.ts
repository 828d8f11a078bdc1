import fs from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { openLmdbStore } from "../store.js";

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

it("finds no damage if a commit makes the file longer while the verification begins", async () => {
  const path = await mkdtemp(join(tmpdir(), "percolatordb-growth-"));
  const store = await openLmdbStore(path, { durability: "none" });
  const value = Buffer.alloc(100_000);
  const mutation = { type: "put", column: Buffer.from("c"), part: "write", timestamp: 1, value } as const;
  await store.mutate({ table: "t", row: Buffer.from("r"), guards: [], mutations: [mutation] });
  // Until the states are read, the file has only their two pages.
  const { fstatSync, readSync } = fs;
  let isGrown = false;
  vi.spyOn(fs, "readSync").mockImplementation(((...read: Parameters<typeof fs.readSync>) => {
    isGrown = true;
    return readSync(...read);
  }) as typeof fs.readSync);
  vi.spyOn(fs, "fstatSync").mockImplementation(((file: number) => {
    const stats = fstatSync(file);
    if (!isGrown) stats.size = 8_192;
    return stats;
  }) as typeof fs.fstatSync);
  syncBuiltinESMExports();
  expect(await store.verify!()).toEqual([]);
  expect(isGrown).toBe(true);
  await store.close();
  await rm(path, { recursive: true });
});
