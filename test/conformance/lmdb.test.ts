import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLmdbStore } from "percolatordb/lmdb";
import type { PresentGuard, RowMutation } from "percolatordb/store";
import { storeConformance } from "percolatordb/testing";
import { afterAll, describe, expect, it } from "vitest";

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

it("batches of one group see what those before them have changed in system rows", async () => {
  const store = await openLmdbStore(await newFolder());
  const column = Buffer.from("c");
  const change = (table: string, name: string, timestamp: number, value: string): RowMutation => ({
    table,
    row: Buffer.from(name),
    guards: [],
    mutations: [{ type: "put", column, part: "write", timestamp, value: Buffer.from(value) }],
  });
  const flag = (value: string) => change("~system", "flag", 1, value);
  expect(await store.mutate(flag("on"))).toBe("applied");
  // One object, as the batches of a program have it.
  const guard: PresentGuard = { type: "present", column, part: "write", at: 1, equals: Buffer.from("on") };
  const guarded: RowMutation = { ...flag(""), guards: [guard], mutations: [] };
  const answers = await Promise.all([
    store.atomic!.commit({ rows: [guarded, change("things", "r", 1, "")] }),
    store.atomic!.commit({ rows: [guarded, flag("off")] }),
    store.atomic!.commit({ rows: [guarded, change("things", "r", 2, "")] }),
    store.mutate(flag("on")),
    store.atomic!.commit({ rows: [guarded, change("things", "r", 3, "")] }),
  ]);
  const plain = answers.map((each) => (typeof each === "string" ? each : each.answer));
  expect(plain).toEqual(["applied", "applied", "rejected", "applied", "applied"]);
  await store.close();
});
