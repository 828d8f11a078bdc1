import { expect, test } from "vitest";
import type { RowMutation, RowStore } from "../index.js";
import { memoryStore } from "./index.js";

const wanted = [{ exact: Buffer.from("rare") }];
/** More cells than a page visits. */
const rows = 25_000;

async function sparse(): Promise<RowStore> {
  const store = memoryStore();
  for (let from = 0; from < rows; from += 1_000) {
    const batch = Array.from({ length: 1_000 }, (_, index): RowMutation => {
      const row = Buffer.from(String(from + index).padStart(6, "0"));
      const value = new Uint8Array(0);
      const put = { type: "put", column: Buffer.from("title"), part: "write", timestamp: 1, value } as const;
      return { table: "t", row, guards: [], mutations: [put] };
    });
    await store.atomic!.commit({ rows: batch });
  }
  return store;
}

test("a page ends after 10,000 cells, also if the read wants none of them", async () => {
  const store = await sparse();
  const range = { table: "t", start: undefined, end: undefined };
  for (const reverse of [false, true]) {
    let [pages, bound] = [0, range.start as { row: Uint8Array } | undefined];
    do {
      const place = reverse ? { end: bound } : { start: bound };
      const page = await store.readRange({ ...range, ...place, columns: wanted, at: 5, reverse });
      expect(page.rows).toEqual([]);
      bound = page.next;
      pages++;
    } while (bound !== undefined);
    expect(pages).toBe(3);
  }
  const raw = await store.readRaw({ ...range, columns: wanted, parts: ["write"] });
  expect([raw.rows, raw.next !== undefined]).toEqual([[], true]);
});
