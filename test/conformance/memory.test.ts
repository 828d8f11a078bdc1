import { memoryStore } from "percolatordb/memory";
import { storeConformance } from "percolatordb/testing";
import { describe, expect, it } from "vitest";

storeConformance("the memory store", () => memoryStore(), { describe, it, atomicBatches: true });

storeConformance(
  "a memory store of one-row mutations, forward scans and small pages",
  () => memoryStore({ atomicBatches: false, reverseScans: false, pageCells: 7, mutationCells: 600 }),
  { describe, it, atomicBatches: false, seeds: [4] },
);

/** Each version takes exactly half a page: the value, and one byte for the name of its column. */
it("a page that is exactly full ends", async () => {
  const store = memoryStore();
  const [column, value] = [Buffer.from("c"), Buffer.alloc(2 ** 19 - 1)];
  for (const row of ["a", "b", "c"].map((name) => Buffer.from(name))) {
    const put = { type: "put", column, part: "write", timestamp: 1, value } as const;
    expect(await store.mutate({ table: "t", row, guards: [], mutations: [put] })).toBe("applied");
  }
  const page = await store.readRange({ table: "t", columns: [{ exact: column }], at: 1 });
  expect(page.rows.map(({ row }) => Buffer.from(row).toString())).toEqual(["a", "b"]);
  expect(Buffer.from(page.next!.row).toString()).toBe("c");
});

it("a closed store refuses every call", async () => {
  const store = memoryStore();
  const refused = { table: "", row: Buffer.from("r"), guards: [], mutations: [] };
  await expect(store.mutate(refused)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await store.close();
  await expect(store.mutate(refused)).rejects.toMatchObject({ code: "CLOSED" });
});
