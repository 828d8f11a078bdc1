import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { RowStore } from "../../index.js";
import { openLmdbStore } from "../store.js";

const column = Buffer.from("c");
let path: string;
let store: RowStore;

/** A store with more than 200 pages. */
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "percolatordb-verify-"));
  store = await openLmdbStore(path, { durability: "none" });
  const mutation = { type: "put", column, part: "write", timestamp: 1, value: Buffer.alloc(1_500) } as const;
  const rows = Array.from({ length: 500 }, (_, i) => Buffer.from(`row ${i}`));
  await Promise.all(rows.map((row) => store.mutate({ table: "t", row, guards: [], mutations: [mutation] })));
});

afterEach(async () => {
  vi.unstubAllGlobals();
  await store.close();
  await rm(path, { recursive: true });
});

it("verifies more pages than a `Set` can hold", async () => {
  // The limit of V8 is 2^24.
  class SmallSet<T> extends Set<T> {
    override add(value: T): this {
      if (this.size >= 100) throw new RangeError("Set maximum size exceeded");
      return super.add(value);
    }
  }
  vi.stubGlobal("Set", SmallSet);
  const verified = store.verify!();
  vi.unstubAllGlobals();
  expect(await verified).toEqual([]);
});

it("ends when the store is closed, which waits for that", async () => {
  let closed: Promise<void> | undefined;
  const onProgress = vi.fn(() => {
    closed ??= store.close();
  });
  const verified = store.verify!({ onProgress });
  await expect(verified).rejects.toMatchObject({ code: "CLOSED" });
  expect(onProgress).toHaveBeenCalledTimes(1);
  await closed;
});
