import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLmdbStore } from "percolatordb/lmdb";
import { storeConformance } from "percolatordb/testing";
import { afterAll, describe, it } from "vitest";

const folders: string[] = [];

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-"));
  folders.push(folder);
  return folder;
}

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

storeConformance("the embedded store", async () => openLmdbStore(await newFolder()), {
  describe,
  it,
  atomicBatches: true,
});

storeConformance(
  "the embedded store without waiting for the flush",
  async () => openLmdbStore(await newFolder(), { durability: "none" }),
  { describe, it, atomicBatches: true, seeds: [5] },
);
