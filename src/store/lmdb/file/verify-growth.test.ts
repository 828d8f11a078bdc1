import * as fs from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { openLmdbStore } from "../store.js";

vi.mock("node:fs", async (original) => {
  const real = await original<typeof fs>();
  return { ...real, fstatSync: vi.fn(real.fstatSync), readSync: vi.fn(real.readSync) };
});

it("finds no damage if a commit makes the file longer while the verification begins", async () => {
  const path = await mkdtemp(join(tmpdir(), "percolatordb-growth-"));
  const store = await openLmdbStore(path, { durability: "none" });
  const value = Buffer.alloc(100_000);
  const mutation = { type: "put", column: Buffer.from("c"), part: "write", timestamp: 1, value } as const;
  await store.mutate({ table: "t", row: Buffer.from("r"), guards: [], mutations: [mutation] });
  // Until the states are read, the file has only their two pages.
  const real = await vi.importActual<typeof fs>("node:fs");
  let isGrown = false;
  vi.mocked(fs.readSync).mockImplementation(((...read: Parameters<typeof fs.readSync>) => {
    isGrown = true;
    return real.readSync(...read);
  }) as typeof fs.readSync);
  vi.mocked(fs.fstatSync).mockImplementation(((file: number) => {
    const stats = real.fstatSync(file);
    if (!isGrown) stats.size = 8_192;
    return stats;
  }) as typeof fs.fstatSync);
  expect(await store.verify!()).toEqual([]);
  await store.close();
  await rm(path, { recursive: true });
});
