import { family, open, type RowStore, table, text } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { expect, test } from "vitest";

const wide = table("wide", { parts: family(text()) });
const columns = 40;

/** A store that answers a read of one row with at most so many columns, whatever is asked for. */
function dividing(store: RowStore, most: number): RowStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === "readRow") {
        const readRow: RowStore["readRow"] = (read, options) =>
          target.readRow({ ...read, limit: Math.min(read.limit ?? most, most) }, options);
        return readRow;
      }
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

// A scan reads such rows again: what is not beside the write records, and what locks stood on.
test("a scan shows wide rows whole, where the store divides what it answers of one row", async () => {
  const store = dividing(memoryStore({ atomicBatches: false, inlineBytes: 8 }), 7);
  let last = 0;
  const oracle = { next: async () => ++last, latest: () => last };
  await using db = await open(store, { tables: [wide], collectEveryMs: 0, oracle });
  for (const row of ["a", "b"]) {
    await db.transact((tx) => {
      for (let index = 0; index < columns; index++) {
        tx.set(wide.parts.at(String(index + 100)), row, "longer than what is kept beside");
      }
    });
  }
  await using snapshot = await db.snapshot();
  const seen: [string, number][] = [];
  for await (const { row, value } of snapshot.scan(wide)) seen.push([row, value.parts?.size ?? 0]);
  expect(seen).toEqual([
    ["a", columns],
    ["b", columns],
  ]);
});
